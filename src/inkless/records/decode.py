"""Turns record batches into records, believing nothing that the bytes claim.

A record's fields are read without a bounds check of their own: positions only ever grow, and after each
record the position must be exactly where the record's length said, so whatever ran over is caught there.
"""

from typing import Final

from crc32c import crc32c

from inkless.errors import CorruptData
from inkless.records.compress import DECOMPRESSED_BYTES_MAX, Codec, decompress
from inkless.records.header import (
    ATTRIBUTES_AT,
    BATCH_LENGTH_MIN,
    HEADER_BYTES,
    MAGIC_V2,
    BatchHeader,
    iter_headers,
    read_header,
)
from inkless.records.record import Record

_RECORD_BYTES_MIN: Final = 7
"""Length, attributes, two deltas, two lengths and a header count take a byte each at least."""
_VARINT_BITS_MAX: Final = 70
_CODEC_IDS: Final = frozenset(Codec)


def decode_records(
    batch: memoryview,
    *,
    base_offset: int | None = None,
    check_crc: bool = True,
    decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX,
) -> list[Record]:
    """All records of the batch at the start of `batch`.

    `base_offset` replaces the one in the bytes, which means nothing in a WAL object.
    """
    header = read_header(batch)
    if header.magic != MAGIC_V2:
        raise CorruptData(f"magic {header.magic} is not a record batch")
    if not BATCH_LENGTH_MIN <= header.batch_length <= len(batch) - HEADER_BYTES + BATCH_LENGTH_MIN:
        raise CorruptData(f"a batch claims {header.byte_length} bytes, {len(batch)} are there")
    batch = batch[: header.byte_length]
    if check_crc and crc32c(batch[ATTRIBUTES_AT:]) != header.crc:
        raise CorruptData("the batch's CRC-32C does not match its bytes")
    if header.codec_id not in _CODEC_IDS:
        raise CorruptData(f"unknown codec {header.codec_id}")
    body = decompress(Codec(header.codec_id), batch[HEADER_BYTES:], bytes_max=decompressed_bytes_max)
    try:
        return _decode_body(body, header, header.base_offset if base_offset is None else base_offset)
    except IndexError as error:
        raise CorruptData("a record ends behind the end of its batch") from error


def decode_run(
    run: memoryview,
    *,
    base_offset: int | None = None,
    check_crc: bool = True,
    decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX,
) -> list[Record]:
    """The records of all batches of a run, without the markers in control batches."""
    records: list[Record] = []
    for pos, header in iter_headers(run):
        if not header.is_control:
            records += decode_records(
                run[pos : pos + header.byte_length],
                base_offset=base_offset,
                check_crc=check_crc,
                decompressed_bytes_max=decompressed_bytes_max,
            )
        if base_offset is not None:
            base_offset += header.offset_count
    return records


def _decode_body(body: bytes, header: BatchHeader, base_offset: int) -> list[Record]:
    if not 0 <= header.record_count <= len(body) // _RECORD_BYTES_MIN:
        raise CorruptData(f"{header.record_count} records do not fit into {len(body)} bytes")
    records: list[Record] = []
    base_timestamp = header.base_timestamp
    append_time = header.max_timestamp if header.is_log_append_time else None
    pos = 0
    for _ in range(header.record_count):
        length, pos = _read_varint(body, pos)
        end = pos + length
        timestamp_delta, pos = _read_varint(body, pos + 1)
        offset_delta, pos = _read_varint(body, pos)
        key, pos = _read_bytes(body, pos)
        value, pos = _read_bytes(body, pos)
        headers, pos = _read_headers(body, pos)
        if pos != end or end > len(body):
            raise CorruptData(f"record {len(records)} of the batch is not as long as it says")
        if not 0 <= offset_delta <= header.last_offset_delta:
            raise CorruptData(f"offset delta {offset_delta} is outside its batch")
        timestamp_ms = base_timestamp + timestamp_delta if append_time is None else append_time
        records.append(Record(base_offset + offset_delta, timestamp_ms, key, value, headers))
    if pos != len(body):
        raise CorruptData(f"{len(body) - pos} bytes are left after the last record of a batch")
    return records


def _read_varint(data: bytes, pos: int) -> tuple[int, int]:
    """A zigzag integer of up to ten bytes and the position behind it."""
    byte = data[pos]
    pos += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos
    value = byte & 0x7F
    shift = 7
    while True:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift >= _VARINT_BITS_MAX:
            raise CorruptData("a variable-length integer is longer than ten bytes")
    return (value >> 1) ^ -(value & 1), pos


def _read_bytes(data: bytes, pos: int) -> tuple[bytes | None, int]:
    length, pos = _read_varint(data, pos)
    if length >= 0:
        end = pos + length
        return data[pos:end], end
    if length != -1:
        raise CorruptData(f"a field has the length {length}")
    return None, pos


def _read_headers(data: bytes, pos: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    if data[pos] == 0:
        return (), pos + 1
    count, pos = _read_varint(data, pos)
    if count < 0:
        raise CorruptData(f"a record has {count} headers")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        name, pos = _read_bytes(data, pos)
        if name is None:
            raise CorruptData("a header has no key")
        value, pos = _read_bytes(data, pos)
        headers.append((name.decode("utf-8", "surrogateescape"), value))
    return tuple(headers), pos

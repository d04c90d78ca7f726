"""Builds record batches: `encode_record` adds to a body, `seal_batch` puts the header before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from crc32c import crc32c

from inkless.records.compress import Codec, compress
from inkless.records.header import (
    ATTRIBUTES_AT,
    BATCH_LENGTH_MIN,
    CONTROL_BIT,
    CRC_AT,
    HEADER_STRUCT,
    LOG_APPEND_TIME_BIT,
    MAGIC_V2,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL_BIT,
)
from inkless.records.record import Headers, Record

_CRC_BYTES: Final = ATTRIBUTES_AT - CRC_AT


@dataclass(frozen=True, slots=True)
class ProducerStamp:
    """Who sends a batch, and the sequence number of its first record."""

    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    base_sequence: int = NO_SEQUENCE


ANONYMOUS: Final = ProducerStamp()


def encode_record(
    body: bytearray,
    *,
    offset_delta: int,
    timestamp_delta_ms: int,
    key: bytes | None,
    value: bytes | None,
    headers: Headers = (),
) -> None:
    """Appends one record, with its length before it, to the body of a batch."""
    record = bytearray(1)  # The attributes, of which none is defined.
    _append_varint(record, timestamp_delta_ms)
    _append_varint(record, offset_delta)
    _append_bytes(record, key)
    _append_bytes(record, value)
    _append_varint(record, len(headers))
    for name, content in headers:
        _append_bytes(record, name.encode("utf-8", "surrogateescape"))
        _append_bytes(record, content)
    _append_varint(body, len(record))
    body += record


def seal_batch(
    body: bytes | bytearray,
    *,
    record_count: int,
    last_offset_delta: int,
    base_timestamp_ms: int,
    max_timestamp_ms: int,
    codec: Codec = Codec.NONE,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer: ProducerStamp = ANONYMOUS,
    attribute_bits: int = 0,
) -> bytes:
    """The finished batch: body compressed, header before it, signed."""
    content = compress(codec, body)
    batch = bytearray(
        HEADER_STRUCT.pack(
            base_offset,
            BATCH_LENGTH_MIN + len(content),
            leader_epoch,
            MAGIC_V2,
            0,
            codec | attribute_bits,
            last_offset_delta,
            base_timestamp_ms,
            max_timestamp_ms,
            producer.producer_id,
            producer.producer_epoch,
            producer.base_sequence,
            record_count,
        )
    )
    batch += content
    crc = crc32c(memoryview(batch)[ATTRIBUTES_AT:])
    batch[CRC_AT:ATTRIBUTES_AT] = crc.to_bytes(_CRC_BYTES, "big")
    return bytes(batch)


def encode_batch(
    records: Sequence[Record],
    *,
    codec: Codec = Codec.NONE,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer: ProducerStamp = ANONYMOUS,
    log_append_time: bool = False,
    transactional: bool = False,
    control: bool = False,
) -> bytes:
    """One batch of the given records, whose offsets must ascend; the first one's is the batch's own.

    With `log_append_time` every record reads back with the largest of the timestamps.
    """
    if not records:
        raise ValueError("a batch holds at least one record")
    first = records[0]
    body = bytearray()
    for record in records:
        encode_record(
            body,
            offset_delta=record.offset - first.offset,
            timestamp_delta_ms=record.timestamp_ms - first.timestamp_ms,
            key=record.key,
            value=record.value,
            headers=record.headers,
        )
    return seal_batch(
        body,
        record_count=len(records),
        last_offset_delta=records[-1].offset - first.offset,
        base_timestamp_ms=first.timestamp_ms,
        max_timestamp_ms=max(record.timestamp_ms for record in records),
        codec=codec,
        base_offset=first.offset,
        leader_epoch=leader_epoch,
        producer=producer,
        attribute_bits=(
            log_append_time * LOG_APPEND_TIME_BIT | transactional * TRANSACTIONAL_BIT | control * CONTROL_BIT
        ),
    )


def _append_varint(out: bytearray, value: int) -> None:
    """Zigzag first, so that small negative numbers stay short."""
    rest = (value << 1) ^ (value >> 63)
    while rest > 0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    out.append(rest)


def _append_bytes(out: bytearray, content: bytes | None) -> None:
    if content is None:
        out.append(1)  # The zigzag form of -1, which means null.
        return
    _append_varint(out, len(content))
    out += content

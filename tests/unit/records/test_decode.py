import pytest

from inkless.errors import CorruptData
from inkless.records.compress import Codec
from inkless.records.decode import decode_records, decode_run
from inkless.records.encode import encode_batch, encode_record, seal_batch
from inkless.records.header import ATTRIBUTES_AT, MAGIC_AT
from inkless.records.record import Record

RECORDS = [
    Record(10, 1_000, b"key", b"value", (("h", b"1"), ("h", None), ("", b""))),
    Record(11, 999, None, None),
    Record(12, 5_000, b"", b""),
]


def sealed(body: bytes, *, record_count: int = 1, last_offset_delta: int = 0) -> memoryview:
    return memoryview(
        seal_batch(
            body,
            record_count=record_count,
            last_offset_delta=last_offset_delta,
            base_timestamp_ms=0,
            max_timestamp_ms=0,
        )
    )


def plain_record() -> bytes:
    body = bytearray()
    encode_record(body, offset_delta=0, timestamp_delta_ms=0, key=b"k", value=b"v")
    return bytes(body)


@pytest.mark.parametrize("codec", list(Codec))
def test_records_come_back_as_they_went_in(codec: Codec) -> None:
    assert decode_records(memoryview(encode_batch(RECORDS, codec=codec))) == RECORDS


def test_bytes_behind_the_batch_are_not_read() -> None:
    assert decode_records(memoryview(encode_batch(RECORDS) + b"next")) == RECORDS


def test_base_offset_can_be_given_from_outside() -> None:
    records = decode_records(memoryview(encode_batch(RECORDS)), base_offset=700)
    assert [record.offset for record in records] == [700, 701, 702]


def test_offsets_of_a_thinned_batch_keep_their_gaps() -> None:
    thinned = [RECORDS[0], RECORDS[2]]
    assert [r.offset for r in decode_records(memoryview(encode_batch(thinned)))] == [10, 12]


def test_log_append_time_gives_every_record_the_batches_maximum() -> None:
    batch = encode_batch(RECORDS, log_append_time=True)
    assert [record.timestamp_ms for record in decode_records(memoryview(batch))] == [5_000] * 3


def test_run_skips_control_batches_but_counts_their_offsets() -> None:
    run = memoryview(
        encode_batch(RECORDS[:1]) + encode_batch(RECORDS[:1], control=True) + encode_batch(RECORDS[:1])
    )
    assert [record.offset for record in decode_run(run, base_offset=100)] == [100, 102]


def test_header_keys_that_are_not_utf8_survive_a_round_trip() -> None:
    body = plain_record()[:-1] + b"\x02\x04\xff\xfe\x01"
    body = bytes([(len(body) - 1) << 1]) + body[1:]
    (record,) = decode_records(sealed(body))
    again = encode_batch([record])
    assert decode_records(memoryview(again))[0].headers == record.headers
    assert b"\xff\xfe" in again


def test_an_empty_batch_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="at least one"):
        encode_batch([])


def test_a_flipped_bit_is_found_unless_the_check_is_waived() -> None:
    batch = bytearray(encode_batch(RECORDS))
    at = batch.rindex(b"value")
    batch[at] ^= 1
    with pytest.raises(CorruptData, match="CRC"):
        decode_records(memoryview(batch))
    assert decode_records(memoryview(batch), check_crc=False)[0].value == b"walue"


@pytest.mark.parametrize(
    ("body", "count"),
    [
        pytest.param(plain_record() + b"\x00", 1, id="bytes left over"),
        pytest.param(plain_record(), 2, id="fewer records than claimed"),
        pytest.param(plain_record(), -1, id="negative count"),
        pytest.param(plain_record(), 2**31 - 1, id="absurd count"),
        pytest.param(plain_record()[:-1] + b"\x7f", 1, id="negative header count"),
        pytest.param(plain_record()[:-1] + b"\x7e", 1, id="more headers than bytes"),
        pytest.param(b"\x10" + plain_record()[1:-1] + b"\x02\x01\x01", 1, id="header without a key"),
        pytest.param(b"\x7e" + plain_record()[1:], 1, id="length beyond the batch"),
        pytest.param(b"\x02" + plain_record()[1:], 1, id="length too short"),
        pytest.param(b"\x0e\x00\x00\x00\x05\x02v\x00", 1, id="key length -3"),
        pytest.param(b"\x10\x00\x00\x00\x7e\x02v\x00\x00", 1, id="key beyond the batch"),
        pytest.param(b"\x20\x00" + b"\xff" * 14 + b"\x01", 1, id="endless integer"),
        pytest.param(b"\x0e\x00\x00\x02\x01\x02v\x00", 1, id="offset outside the batch"),
        pytest.param(b"\x0e\x00\x00\x01\x01\x02v\x00", 1, id="negative offset delta"),
    ],
)
def test_malformed_bodies_are_corrupt(body: bytes, count: int) -> None:
    with pytest.raises(CorruptData):
        decode_records(sealed(body, record_count=count))


@pytest.mark.parametrize("length", [0, 60, 61, 80])
def test_a_batch_cut_short_is_corrupt(length: int) -> None:
    with pytest.raises(CorruptData):
        decode_records(memoryview(encode_batch(RECORDS))[:length], check_crc=False)


@pytest.mark.parametrize(
    ("at", "value", "complaint"), [(MAGIC_AT, 1, "magic"), (ATTRIBUTES_AT + 1, 6, "codec")]
)
def test_unknown_formats_and_codecs_are_corrupt(at: int, value: int, complaint: str) -> None:
    batch = bytearray(encode_batch(RECORDS))
    batch[at] = value
    with pytest.raises(CorruptData, match=complaint):
        decode_records(memoryview(batch), check_crc=False)


def test_a_bomb_is_refused_by_the_limit() -> None:
    batch = encode_batch([Record(0, 0, None, bytes(1 << 20))], codec=Codec.ZSTD)
    with pytest.raises(CorruptData, match="more than 4096 bytes"):
        decode_records(memoryview(batch), decompressed_bytes_max=4096)

import pytest

from inkless.errors import CorruptData
from inkless.records.compress import Codec
from inkless.records.encode import ProducerStamp, encode_batch
from inkless.records.header import (
    BATCH_LENGTH_AT,
    HEADER_BYTES,
    MAGIC_AT,
    RECORD_COUNT_AT,
    iter_headers,
    read_header,
)
from inkless.records.record import Record

RECORDS = [Record(40, 1_000, b"k", b"v"), Record(41, 3_000, None, b"w"), Record(42, 2_000, b"k", None)]


def test_header_tells_what_the_batch_was_built_with() -> None:
    batch = encode_batch(
        RECORDS, codec=Codec.LZ4, leader_epoch=7, producer=ProducerStamp(9, 3, 100), log_append_time=True
    )
    header = read_header(memoryview(batch))
    assert header.base_offset == 40
    assert header.last_offset == 42
    assert header.offset_count == header.record_count == 3
    assert header.byte_length == len(batch)
    assert header.leader_epoch == 7
    assert (header.base_timestamp, header.max_timestamp) == (1_000, 3_000)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 3, 100)
    assert header.codec_id == Codec.LZ4
    assert header.is_log_append_time
    assert not header.is_control
    assert not header.is_transactional
    assert not header.has_delete_horizon


def test_transactional_and_control_bits_are_told_apart() -> None:
    control = read_header(memoryview(encode_batch(RECORDS, control=True)))
    transactional = read_header(memoryview(encode_batch(RECORDS, transactional=True)))
    assert (control.is_control, control.is_transactional) == (True, False)
    assert (transactional.is_control, transactional.is_transactional) == (False, True)


def test_record_count_is_the_last_field() -> None:
    assert RECORD_COUNT_AT + 4 == HEADER_BYTES == 61


def test_walk_yields_every_batch_with_its_position() -> None:
    first, second = encode_batch(RECORDS), encode_batch(RECORDS[:1])
    found = [(pos, header.record_count) for pos, header in iter_headers(memoryview(first + second))]
    assert found == [(0, 3), (len(first), 1)]


def test_walk_over_nothing_yields_nothing() -> None:
    assert list(iter_headers(memoryview(b""))) == []


def test_short_header_is_corrupt() -> None:
    with pytest.raises(CorruptData, match="61 bytes"):
        read_header(memoryview(bytes(60)))


@pytest.mark.parametrize("cut", [1, 30])
def test_walk_refuses_a_run_that_ends_inside_a_batch(cut: int) -> None:
    batch = encode_batch(RECORDS)
    with pytest.raises(CorruptData):
        list(iter_headers(memoryview((batch + batch)[:-cut])))


def test_walk_refuses_a_length_that_would_not_move_on() -> None:
    batch = bytearray(encode_batch(RECORDS))
    batch[BATCH_LENGTH_AT : BATCH_LENGTH_AT + 4] = (-12).to_bytes(4, "big", signed=True)
    with pytest.raises(CorruptData, match="claims 0 bytes"):
        list(iter_headers(memoryview(batch)))


def test_walk_refuses_another_magic() -> None:
    batch = bytearray(encode_batch(RECORDS))
    batch[MAGIC_AT] = 1
    with pytest.raises(CorruptData, match="magic 1"):
        list(iter_headers(memoryview(batch)))

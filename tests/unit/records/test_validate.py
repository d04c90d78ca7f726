import struct
from collections.abc import Callable

import pytest
from crc32c import crc32c

from inkless.errors import RequestError
from inkless.protocol.error_codes import ErrorCode
from inkless.records.compress import Codec
from inkless.records.encode import ProducerStamp, encode_batch
from inkless.records.header import (
    ATTRIBUTES_AT,
    BASE_OFFSET_AT,
    BATCH_LENGTH_AT,
    CRC_AT,
    LAST_OFFSET_DELTA_AT,
    LEADER_EPOCH_AT,
    MAGIC_AT,
    RECORD_COUNT_AT,
)
from inkless.records.record import Record
from inkless.records.validate import BatchRules, split_batches

NOW_MS = 1_700_000_000_000
RULES = BatchRules()
RECORDS = [Record(0, NOW_MS - 10, b"k", b"v"), Record(1, NOW_MS, None, b"w")]


def refusal(records: bytes, rules: BatchRules = RULES, *, zstd_allowed: bool = True) -> ErrorCode:
    with pytest.raises(RequestError) as caught:
        split_batches(memoryview(records), rules, now_ms=NOW_MS, zstd_allowed=zstd_allowed)
    return caught.value.code


def changed(batch: bytes, at: int, form: str, value: int) -> bytes:
    """The batch with one field replaced, signed anew."""
    copy = bytearray(batch)
    struct.pack_into(form, copy, at, value)
    struct.pack_into(">I", copy, CRC_AT, crc32c(memoryview(copy)[ATTRIBUTES_AT:]))
    return bytes(copy)


@pytest.mark.parametrize("codec", list(Codec))
def test_a_good_batch_is_accepted_whatever_its_codec(codec: Codec) -> None:
    batch = encode_batch(RECORDS, codec=codec)
    (header,) = split_batches(memoryview(batch), RULES, now_ms=NOW_MS)
    assert (header.byte_length, header.record_count, header.max_timestamp) == (len(batch), 2, NOW_MS)


def test_several_batches_of_a_plain_producer_are_split_in_order() -> None:
    first, second = encode_batch(RECORDS), encode_batch(RECORDS[:1])
    headers = split_batches(memoryview(first + second), RULES, now_ms=NOW_MS)
    assert [header.byte_length for header in headers] == [len(first), len(second)]


def test_an_idempotent_producer_may_send_one_batch_only() -> None:
    batch = encode_batch(RECORDS, producer=ProducerStamp(5, 0, 0))
    assert len(split_batches(memoryview(batch), RULES, now_ms=NOW_MS)) == 1
    assert refusal(batch + encode_batch(RECORDS)) is ErrorCode.INVALID_RECORD


def test_offset_and_epoch_set_by_the_producer_do_not_matter() -> None:
    batch = bytearray(encode_batch(RECORDS))
    struct.pack_into(">q", batch, BASE_OFFSET_AT, 12345)
    struct.pack_into(">i", batch, LEADER_EPOCH_AT, 77)
    assert split_batches(memoryview(batch), RULES, now_ms=NOW_MS)[0].record_count == 2


def test_no_batch_at_all_is_an_invalid_record() -> None:
    assert refusal(b"") is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("magic", [0, 1])
def test_old_message_formats_are_named_as_such(magic: int) -> None:
    message = bytearray(34)
    message[MAGIC_AT] = magic
    assert refusal(bytes(message)) is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT


@pytest.mark.parametrize("magic", [3, 127, 255])
def test_a_magic_of_the_future_is_corrupt(magic: int) -> None:
    batch = bytearray(encode_batch(RECORDS))
    batch[MAGIC_AT] = magic
    assert refusal(bytes(batch)) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    "damage",
    [
        lambda batch: batch[:10],
        lambda batch: batch[:60],
        lambda batch: batch[:-1],
        lambda batch: batch + b"\x00",
        lambda batch: changed(batch, BATCH_LENGTH_AT, ">i", 48),
        lambda batch: changed(batch, BATCH_LENGTH_AT, ">i", -1),
        lambda batch: changed(batch, BATCH_LENGTH_AT, ">i", 2**31 - 1),
        lambda batch: batch[:-1] + bytes([batch[-1] ^ 1]),
        lambda batch: batch[:CRC_AT] + bytes(4) + batch[ATTRIBUTES_AT:],
    ],
)
def test_damaged_bytes_are_corrupt(damage: Callable[[bytes], bytes]) -> None:
    # The magic of trailing bytes must not be readable, or they would be taken for an old format.
    assert refusal(damage(encode_batch(RECORDS))) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (RECORD_COUNT_AT, 0),
        (RECORD_COUNT_AT, 3),
        (RECORD_COUNT_AT, -1),
        (LAST_OFFSET_DELTA_AT, 5),
        (LAST_OFFSET_DELTA_AT, -1),
    ],
)
def test_count_and_offsets_must_agree(at: int, value: int) -> None:
    assert refusal(changed(encode_batch(RECORDS), at, ">i", value)) is ErrorCode.INVALID_RECORD


def test_an_empty_batch_is_refused_even_if_its_fields_agree() -> None:
    empty = changed(encode_batch(RECORDS), RECORD_COUNT_AT, ">i", 0)
    assert refusal(changed(empty, LAST_OFFSET_DELTA_AT, ">i", -1)) is ErrorCode.INVALID_RECORD


def test_size_limit_is_inclusive() -> None:
    batch = encode_batch(RECORDS)
    assert split_batches(memoryview(batch), BatchRules(max_message_bytes=len(batch)), now_ms=NOW_MS)
    assert refusal(batch, BatchRules(max_message_bytes=len(batch) - 1)) is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec_id", [5, 6, 7])
def test_unknown_codecs_are_refused(codec_id: int) -> None:
    batch = changed(encode_batch(RECORDS), ATTRIBUTES_AT, ">h", codec_id)
    assert refusal(batch) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_zstd_is_refused_where_the_request_is_too_old_for_it() -> None:
    batch = encode_batch(RECORDS, codec=Codec.ZSTD)
    assert refusal(batch, zstd_allowed=False) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_clients_may_not_write_control_batches() -> None:
    assert refusal(encode_batch(RECORDS, control=True)) is ErrorCode.INVALID_RECORD


def test_transactional_batches_are_refused() -> None:
    batch = encode_batch(RECORDS, transactional=True, producer=ProducerStamp(1, 0, 0))
    assert refusal(batch) is ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize(
    "producer", [ProducerStamp(5, 0, -1), ProducerStamp(5, -1, 0), ProducerStamp(-2, 0, 0)]
)
def test_half_an_idempotent_producer_is_refused(producer: ProducerStamp) -> None:
    assert refusal(encode_batch(RECORDS, producer=producer)) is ErrorCode.INVALID_RECORD


def test_log_append_time_is_the_brokers_to_set() -> None:
    batch = encode_batch(RECORDS, log_append_time=True)
    assert refusal(batch) is ErrorCode.INVALID_TIMESTAMP
    assert split_batches(memoryview(batch), BatchRules(log_append_time=True), now_ms=NOW_MS)


def test_the_newest_timestamp_may_not_be_too_far_ahead() -> None:
    batch = encode_batch([Record(0, NOW_MS, None, b""), Record(1, NOW_MS + 101, None, b"")])
    assert refusal(batch, BatchRules(timestamp_after_max_ms=100)) is ErrorCode.INVALID_TIMESTAMP
    assert split_batches(memoryview(batch), BatchRules(timestamp_after_max_ms=101), now_ms=NOW_MS)


def test_the_first_timestamp_may_not_be_too_old() -> None:
    batch = encode_batch([Record(0, NOW_MS - 101, None, b""), Record(1, NOW_MS, None, b"")])
    assert refusal(batch, BatchRules(timestamp_before_max_ms=100)) is ErrorCode.INVALID_TIMESTAMP
    assert split_batches(memoryview(batch), BatchRules(timestamp_before_max_ms=101), now_ms=NOW_MS)


def test_timestamps_are_not_judged_where_the_broker_sets_them_or_there_are_none() -> None:
    ahead = encode_batch([Record(0, NOW_MS * 2, None, b"")])
    without = encode_batch([Record(0, -1, None, b"")])
    assert split_batches(memoryview(ahead), BatchRules(log_append_time=True), now_ms=NOW_MS)
    assert split_batches(memoryview(without), BatchRules(timestamp_before_max_ms=1), now_ms=NOW_MS)

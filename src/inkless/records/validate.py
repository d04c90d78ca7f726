"""Decides whether what a producer sent for one partition may be appended.

Nothing here looks inside the records: they may be compressed and stay opaque. What is checked are the
header's own claims, against each other, against the bytes and against the topic's rules; the codes are those
Kafka answers with, so that clients do what they do with Kafka (split a batch, drop it, retry it).
"""

from dataclasses import dataclass
from typing import Final

from crc32c import crc32c

from inkless.errors import RequestError
from inkless.protocol.error_codes import ErrorCode
from inkless.records.header import (
    ATTRIBUTES_AT,
    BATCH_LENGTH_AT,
    BATCH_LENGTH_MIN,
    COMPRESSION_MASK,
    CONTROL_BIT,
    HEADER_BYTES,
    HEADER_STRUCT,
    LENGTH_PREFIX_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC_AT,
    MAGIC_V2,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
)

CODEC_ID_MAX: Final = 4
CODEC_ID_ZSTD: Final = 4
TIMESTAMP_DIFFERENCE_UNLIMITED: Final = (1 << 63) - 1

_UNUSUAL_ATTRIBUTES: Final = LOG_APPEND_TIME_BIT | TRANSACTIONAL_BIT | CONTROL_BIT


@dataclass(frozen=True, slots=True)
class BatchRules:
    """What a topic asks of a batch, from its configuration."""

    max_message_bytes: int = 1_048_588
    timestamp_before_max_ms: int = TIMESTAMP_DIFFERENCE_UNLIMITED
    timestamp_after_max_ms: int = 3_600_000
    log_append_time: bool = False
    """The broker's clock replaces the producer's timestamps (`stamp_log_append_time`); they go unchecked."""


def split_batches(
    records: memoryview, rules: BatchRules, *, now_ms: int, zstd_allowed: bool = True
) -> list[BatchHeader]:
    """The headers of all batches in one partition's records field, in order, or a RequestError.

    The batches lie one behind the other, each `byte_length` long. `zstd_allowed` is false for Produce
    versions below 7, whose clients promise that no consumer is surprised by that codec (KIP-110).
    """
    header = validate_batch(records, 0, rules, now_ms=now_ms, zstd_allowed=zstd_allowed)
    batches = [header]
    pos = header.batch_length + LENGTH_PREFIX_BYTES
    end = len(records)
    while pos < end:
        header = validate_batch(records, pos, rules, now_ms=now_ms, zstd_allowed=zstd_allowed)
        batches.append(header)
        pos += header.batch_length + LENGTH_PREFIX_BYTES
    if len(batches) > 1 and any(batch.producer_id != NO_PRODUCER_ID for batch in batches):
        # Sequence numbers are checked per batch and answered per partition: with two batches a retry of the
        # first and a refusal of the second could not both be told to the producer.
        raise RequestError(
            ErrorCode.INVALID_RECORD,
            f"an idempotent producer may send one batch per partition and request, not {len(batches)}",
        )
    return batches


def validate_batch(
    records: memoryview, pos: int, rules: BatchRules, *, now_ms: int, zstd_allowed: bool = True
) -> BatchHeader:
    """Checks the batch that begins at `pos` and returns its header, or raises RequestError."""
    header = _read_frame(records, pos, rules)
    if crc32c(records[pos + ATTRIBUTES_AT : pos + LENGTH_PREFIX_BYTES + header.batch_length]) != header.crc:
        raise RequestError(ErrorCode.CORRUPT_MESSAGE, "the batch's CRC-32C does not match its bytes")
    if not 0 < header.record_count == header.last_offset_delta + 1:
        raise RequestError(
            ErrorCode.INVALID_RECORD,
            f"record count {header.record_count} does not fit last offset delta {header.last_offset_delta}",
        )
    if header.producer_id != NO_PRODUCER_ID:
        _check_producer(header)
    attributes = header.attributes
    if attributes & _UNUSUAL_ATTRIBUTES:
        _check_unusual_attributes(attributes, rules)
    codec_id = attributes & COMPRESSION_MASK
    if codec_id > CODEC_ID_MAX or (codec_id == CODEC_ID_ZSTD and not zstd_allowed):
        raise RequestError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"codec {codec_id} is not allowed in this request"
        )
    if not rules.log_append_time:
        _check_timestamps(header, rules, now_ms)
    return header


def _read_frame(records: memoryview, pos: int, rules: BatchRules) -> BatchHeader:
    """The header, once it is known that a whole batch of the right format and size is there."""
    left = len(records) - pos
    # Magic stands at the same place in all three formats, so an old one is named before its length is judged.
    if left > MAGIC_AT and records[pos + MAGIC_AT] < MAGIC_V2:
        raise RequestError(
            ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            f"message format {records[pos + MAGIC_AT]} is not supported, only record batches (magic 2)",
        )
    if left < HEADER_BYTES:
        if left == 0:
            raise RequestError(ErrorCode.INVALID_RECORD, "a partition without any record batch")
        raise RequestError(ErrorCode.CORRUPT_MESSAGE, f"{left} bytes are too few for a record batch")
    header = BatchHeader(*HEADER_STRUCT.unpack_from(records, pos))
    if header.magic != MAGIC_V2:
        raise RequestError(ErrorCode.CORRUPT_MESSAGE, f"unknown message format {header.magic}")
    byte_length = header.batch_length + LENGTH_PREFIX_BYTES
    if header.batch_length < BATCH_LENGTH_MIN or byte_length > left:
        raise RequestError(
            ErrorCode.CORRUPT_MESSAGE,
            f"the length at byte {pos + BATCH_LENGTH_AT} says {byte_length} bytes, {left} are there",
        )
    if byte_length > rules.max_message_bytes:
        raise RequestError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"a batch of {byte_length} bytes is over max.message.bytes ({rules.max_message_bytes})",
        )
    return header


def _check_producer(header: BatchHeader) -> None:
    if header.producer_id < 0 or header.producer_epoch < 0 or header.base_sequence < 0:
        raise RequestError(
            ErrorCode.INVALID_RECORD,
            f"producer id {header.producer_id}, epoch {header.producer_epoch} and sequence "
            f"{header.base_sequence} do not belong together",
        )


def _check_unusual_attributes(attributes: int, rules: BatchRules) -> None:
    if attributes & CONTROL_BIT:
        raise RequestError(ErrorCode.INVALID_RECORD, "clients may not write control batches")
    if attributes & TRANSACTIONAL_BIT:
        raise RequestError(ErrorCode.INVALID_TXN_STATE, "transactions are not supported")
    if not rules.log_append_time:
        raise RequestError(
            ErrorCode.INVALID_TIMESTAMP,
            "a producer may not set the timestamp type LogAppendTime on a topic with CreateTime",
        )


def _check_timestamps(header: BatchHeader, rules: BatchRules, now_ms: int) -> None:
    """The two ends of the batch stand for its records, which may be compressed.

    The base timestamp is the first record's, usually the oldest; the maximum is the newest.
    """
    if header.max_timestamp == NO_TIMESTAMP:
        return
    if header.max_timestamp - now_ms > rules.timestamp_after_max_ms:
        raise RequestError(
            ErrorCode.INVALID_TIMESTAMP,
            f"timestamp {header.max_timestamp} is more than {rules.timestamp_after_max_ms} ms after "
            f"the broker's time {now_ms}",
        )
    if now_ms - header.base_timestamp > rules.timestamp_before_max_ms:
        raise RequestError(
            ErrorCode.INVALID_TIMESTAMP,
            f"timestamp {header.base_timestamp} is more than {rules.timestamp_before_max_ms} ms before "
            f"the broker's time {now_ms}",
        )

"""Finds the exact record for a timestamp inside a run; the coordinator knows only which run it is in.

Batches are passed over by their maximum timestamp and only the one that can hold the answer is decoded.
`base_offset` None means that the bytes carry their offsets (segments); in WAL objects they do not.
"""

from collections.abc import Iterator
from typing import NamedTuple

from inkless.records.decode import decode_records
from inkless.records.header import NO_TIMESTAMP, BatchHeader, iter_headers


class TimestampedOffset(NamedTuple):
    """Where a record is and when it was made, as ListOffsets answers."""

    offset: int
    timestamp_ms: int


class _PlacedBatch(NamedTuple):
    base_offset: int
    header: BatchHeader
    content: memoryview


def find_first_at_or_after(
    run: memoryview, base_offset: int | None, timestamp_ms: int, *, offset_min: int = 0
) -> TimestampedOffset | None:
    """The first record at `offset_min` or above whose timestamp is `timestamp_ms` or later."""
    for batch in _place(run, base_offset):
        header = batch.header
        if header.max_timestamp < timestamp_ms or batch.base_offset + header.last_offset_delta < offset_min:
            continue
        for record in decode_records(batch.content, base_offset=batch.base_offset):
            if record.timestamp_ms >= timestamp_ms and record.offset >= offset_min:
                return TimestampedOffset(record.offset, record.timestamp_ms)
    return None


def find_max_timestamp(
    run: memoryview, base_offset: int | None, *, offset_min: int = 0
) -> TimestampedOffset | None:
    """The first of the records with the largest timestamp; None when no record has one."""
    best: TimestampedOffset | None = None
    batches = [
        batch
        for batch in _place(run, base_offset)
        if batch.base_offset + batch.header.last_offset_delta >= offset_min
    ]
    batches.sort(key=lambda batch: (-batch.header.max_timestamp, batch.base_offset))
    for batch in batches:
        # A header may claim a later time than its records have, so the search goes on until it cannot win.
        if batch.header.max_timestamp <= (NO_TIMESTAMP if best is None else best.timestamp_ms):
            break
        for record in decode_records(batch.content, base_offset=batch.base_offset):
            if record.offset >= offset_min and (best is None or record.timestamp_ms > best.timestamp_ms):
                best = TimestampedOffset(record.offset, record.timestamp_ms)
    return best


def _place(run: memoryview, base_offset: int | None) -> Iterator[_PlacedBatch]:
    for pos, header in iter_headers(run):
        content = run[pos : pos + header.byte_length]
        if base_offset is None:
            yield _PlacedBatch(header.base_offset, header, content)
        else:
            yield _PlacedBatch(base_offset, header, content)
            base_offset += header.offset_count

"""Offsets for the batches of one run: the step that makes the order, without any database.

A backend loads a `LogTail` and the producers' states, calls `append_run`, and stores the rows that come back
together with the tail and the states it finds changed. The states are changed in place, so a backend whose
transaction fails must throw them away.
"""

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from inkless.coordinator.batch_index import pack_batch_index
from inkless.coordinator.producer_state import ProducerState, judge_batch, remember_batch
from inkless.coordinator.types import NO_PRODUCER_ID, BatchFacts, RunCommit, RunResult
from inkless.protocol.error_codes import ErrorCode


@dataclass(slots=True)
class LogTail:
    """Where a partition's log stands; `max_timestamp_ms` is the greatest that was ever appended."""

    partition_key: int
    log_start_offset: int
    high_watermark: int
    byte_length: int
    max_timestamp_ms: int


class ProducerKey(NamedTuple):
    """A producer in one partition."""

    partition_key: int
    producer_id: int


class RunRow(NamedTuple):
    """Accepted batches that lie one behind the other in the object and follow each other in the log.

    `running_max_timestamp_ms` is the greatest timestamp of the log up to and with this row: it only grows, so
    a timestamp can be found by bisection over the offsets.
    """

    partition_key: int
    last_offset: int
    base_offset: int
    byte_start: int
    byte_length: int
    max_timestamp_ms: int
    running_max_timestamp_ms: int
    batch_index: bytes | None


ProducerStates = MutableMapping[ProducerKey, ProducerState | None]


def append_run(
    tail: LogTail, run: RunCommit, states: ProducerStates, changed: set[ProducerKey]
) -> tuple[RunResult, list[RunRow]]:
    """Gives offsets to the batches of a run and says which rows hold them.

    `states` has an entry for every producer of the run; the keys of those that moved are added to `changed`.
    """
    batches = run.batches
    if len(batches) == 1 and batches[0].producer_id == NO_PRODUCER_ID:
        return _append_one(tail, run, batches[0])
    if all(batch[3] == NO_PRODUCER_ID for batch in batches):
        base_offset = tail.high_watermark
        rows = [_append_accepted(tail, batches, run.byte_start)] if batches else []
        counts = [batch[1] for batch in batches]
        base_offsets = list(accumulate(counts[:-1], initial=base_offset)) if counts else []
        return RunResult(run.partition, base_offsets, tail.log_start_offset, tail.high_watermark), rows
    return _append_judged(tail, run, states, changed)


def _append_one(tail: LogTail, run: RunCommit, batch: BatchFacts) -> tuple[RunResult, list[RunRow]]:
    """Most runs of small producers are one plain batch; this is `_append_accepted` without its sequences."""
    byte_length, record_count, max_timestamp_ms = batch[:3]
    base_offset = tail.high_watermark
    tail.high_watermark = end_offset = base_offset + record_count
    tail.byte_length += byte_length
    tail.max_timestamp_ms = max(tail.max_timestamp_ms, max_timestamp_ms)
    row = RunRow(
        tail.partition_key,
        end_offset - 1,
        base_offset,
        run.byte_start,
        byte_length,
        max_timestamp_ms,
        tail.max_timestamp_ms,
        None,
    )
    return RunResult(run.partition, (base_offset,), tail.log_start_offset, end_offset), [row]


def _append_accepted(tail: LogTail, batches: Sequence[BatchFacts], byte_start: int) -> RunRow:
    byte_lengths, record_counts, timestamps_ms, *_ = zip(*batches, strict=True)
    byte_length = sum(byte_lengths)
    max_timestamp_ms = max(timestamps_ms)
    base_offset = tail.high_watermark
    tail.high_watermark = base_offset + sum(record_counts)
    tail.byte_length += byte_length
    tail.max_timestamp_ms = max(tail.max_timestamp_ms, max_timestamp_ms)
    return RunRow(
        tail.partition_key,
        tail.high_watermark - 1,
        base_offset,
        byte_start,
        byte_length,
        max_timestamp_ms,
        tail.max_timestamp_ms,
        pack_batch_index(record_counts, byte_lengths),
    )


def _append_judged(
    tail: LogTail, run: RunCommit, states: ProducerStates, changed: set[ProducerKey]
) -> tuple[RunResult, list[RunRow]]:
    """A refused batch and a retry take no offsets; what they interrupt goes on in another row."""
    rows: list[RunRow] = []
    base_offsets: list[int] = []
    errors: dict[int, ErrorCode] = {}
    duplicates: set[int] = set()
    accepted: list[BatchFacts] = []
    accepted_byte_start = byte_end = run.byte_start
    next_offset = tail.high_watermark
    for position, batch in enumerate(run.batches):
        byte_end += batch.byte_length
        key = ProducerKey(tail.partition_key, batch.producer_id)
        state = states[key] if batch.producer_id != NO_PRODUCER_ID else None
        verdict = judge_batch(state, batch)
        if verdict is ErrorCode.NONE:
            if batch.producer_id != NO_PRODUCER_ID:
                states[key] = remember_batch(state, batch, base_offset=next_offset)
                changed.add(key)
            base_offsets.append(next_offset)
            next_offset += batch.record_count
            accepted.append(batch)
            continue
        if accepted:
            rows.append(_append_accepted(tail, accepted, accepted_byte_start))
            accepted = []
        accepted_byte_start = byte_end
        if isinstance(verdict, ErrorCode):
            errors[position] = verdict
            base_offsets.append(-1)
        else:
            duplicates.add(position)
            base_offsets.append(verdict.base_offset)
    if accepted:
        rows.append(_append_accepted(tail, accepted, accepted_byte_start))
    result = RunResult(
        run.partition, base_offsets, tail.log_start_offset, tail.high_watermark, errors, frozenset(duplicates)
    )
    return result, rows


def refuse_run(run: RunCommit, code: ErrorCode) -> RunResult:
    """The answer for a run of which no batch can be appended."""
    count = len(run.batches)
    return RunResult(run.partition, [-1] * count, -1, -1, dict.fromkeys(range(count), code))

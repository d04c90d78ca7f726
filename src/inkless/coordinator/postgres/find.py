"""Finding runs by offset and by timestamp, each call in one statement, so that all of it sees one state."""

from collections.abc import Sequence
from typing import Any

from inkless.coordinator.find_plan import FindBudget, FoundRun, PartitionBudget, take_from_run, whole_run
from inkless.coordinator.postgres.commit import partition_columns
from inkless.coordinator.postgres.connections import Pool
from inkless.coordinator.types import (
    Coordinates,
    FindRequest,
    FindResult,
    OffsetBounds,
    PartitionId,
    TimestampHit,
)
from inkless.protocol.error_codes import ErrorCode

_RUNS_MAX = 64
"""Runs that the first statement reads of a partition; where its share is not used up, another one goes on."""
_RUNS_OF_ALL = 1024
"""Runs that one statement reads of all partitions together, four for each at the least."""

_RUN_COLUMNS = """r.base_offset, r.last_offset, r.byte_start, r.byte_length, r.batch_index, r.object_id,
        r.object_key, r.object_byte_length, r.committed_ms, r.kind = 1"""

_WANTED_LOGS = """unnest($1::integer[], $2::bytea[], $3::integer[]) WITH ORDINALITY
        AS w (shard, topic_id, partition_index, position)
    JOIN partitions AS p USING (shard, topic_id, partition_index) JOIN logs AS l USING (partition_key)"""

_BOUNDS = f"SELECT w.position, l.log_start_offset, l.high_watermark FROM {_WANTED_LOGS}"  # noqa: S608 a constant

# For each partition the run that holds the offset, and those that begin within its bytes.
_FIND = f"""
    SELECT w.position, l.log_start_offset, l.high_watermark, {_RUN_COLUMNS}
    FROM unnest($1::integer[], $2::bytea[], $3::integer[], $4::bigint[], $5::bigint[]) WITH ORDINALITY
        AS w (shard, topic_id, partition_index, from_offset, bytes_max, position)
    JOIN partitions AS p USING (shard, topic_id, partition_index) JOIN logs AS l USING (partition_key)
    LEFT JOIN LATERAL (
        SELECT n.*, sum(n.byte_length) OVER (ORDER BY n.last_offset) - n.byte_length AS bytes_before
        FROM (
            SELECT * FROM runs
            WHERE runs.partition_key = l.partition_key AND runs.last_offset >= w.from_offset
            ORDER BY runs.last_offset LIMIT $6) AS n
    ) AS r ON r.bytes_before <= w.bytes_max AND w.from_offset >= l.log_start_offset
    ORDER BY w.position, r.last_offset
"""  # noqa: S608 only constants are put in

_FIND_BY_TIMESTAMP = f"""
    SELECT w.position, l.log_start_offset, l.high_watermark, {_RUN_COLUMNS}
    FROM unnest($1::integer[], $2::bytea[], $3::integer[], $4::bigint[]) WITH ORDINALITY
        AS w (shard, topic_id, partition_index, timestamp_ms, position)
    JOIN partitions AS p USING (shard, topic_id, partition_index) JOIN logs AS l USING (partition_key)
    LEFT JOIN LATERAL (
        SELECT * FROM runs
        WHERE runs.partition_key = l.partition_key AND runs.last_offset >=
            offset_at_timestamp(l.partition_key, l.log_start_offset, l.high_watermark, w.timestamp_ms)
        ORDER BY runs.last_offset LIMIT 1
    ) AS r ON TRUE
"""  # noqa: S608 only constants are put in


class Finder:
    """Answers from the pool of the finds."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find_batches(self, requests: Sequence[FindRequest], *, bytes_max: int) -> list[FindResult]:
        runs_max = min(_RUNS_MAX, max(4, _RUNS_OF_ALL // max(1, len(requests))))
        rows = await self._find(requests, bytes_max=bytes_max, runs_max=runs_max)
        bounds: dict[int, tuple[int, int]] = {}
        runs: dict[int, list[FoundRun]] = {}
        for position, log_start, high_watermark, *columns in rows:
            bounds[position - 1] = (log_start, high_watermark)
            if columns[0] is not None:
                runs.setdefault(position - 1, []).append(FoundRun(*columns))
        total = FindBudget(bytes_max)
        results = []
        for position, request in enumerate(requests):
            log_start, high_watermark = bounds.get(position, (-1, -1))
            error = _judge(request, bounds.get(position))
            taken: list[Coordinates] = []
            if error is ErrorCode.NONE and position in runs:
                taken = await self._take(request, high_watermark, runs[position], total)
            results.append(FindResult(request.partition, error, log_start, high_watermark, taken))
        return results

    async def offset_bounds(self, partitions: Sequence[PartitionId]) -> list[OffsetBounds]:
        rows = await self._pool.fetch(_BOUNDS, *partition_columns(partitions))
        bounds = {position - 1: (start, end) for position, start, end in rows}
        return [
            OffsetBounds(partition, ErrorCode.NONE, *bounds[position])
            if position in bounds
            else OffsetBounds(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
            for position, partition in enumerate(partitions)
        ]

    async def find_by_timestamp(
        self, lookups: Sequence[tuple[PartitionId, int | None]]
    ) -> list[TimestampHit]:
        """A timestamp of None means the greatest that the partition has."""
        rows = await self._pool.fetch(
            _FIND_BY_TIMESTAMP,
            *partition_columns([partition for partition, _ in lookups]),
            [timestamp_ms for _, timestamp_ms in lookups],
        )
        hits = [
            TimestampHit(partition, -1, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
            for partition, _ in lookups
        ]
        for position, log_start, high_watermark, *columns in rows:
            coordinates = None if columns[0] is None else whole_run(FoundRun(*columns))
            partition = hits[position - 1].partition
            hits[position - 1] = TimestampHit(
                partition, log_start, high_watermark, ErrorCode.NONE, coordinates
            )
        return hits

    async def _find(self, requests: Sequence[FindRequest], *, bytes_max: int, runs_max: int) -> list[Any]:
        return await self._pool.fetch(
            _FIND,
            *partition_columns([request.partition for request in requests]),
            [request.offset for request in requests],
            [min(request.bytes_max, bytes_max) for request in requests],
            runs_max,
        )

    async def _take(
        self, request: FindRequest, high_watermark: int, runs: Sequence[FoundRun], total: FindBudget
    ) -> list[Coordinates]:
        share = PartitionBudget(request.offset, request.bytes_max)
        taken: list[Coordinates] = []
        while runs:
            for run in runs:
                coordinates = take_from_run(run, share, total)
                if coordinates is not None:
                    taken.append(coordinates)
                if share.full:
                    return taken
            if share.next_offset >= high_watermark:
                break
            runs = await self._runs_after(request, share, high_watermark)
        return taken

    async def _runs_after(
        self, request: FindRequest, share: PartitionBudget, high_watermark: int
    ) -> list[FoundRun]:
        """Runs that follow what was found. Another statement sees another state: it may have runs beyond the
        high watermark of the answer, and those in between may be gone, with which the answer ends."""
        following = FindRequest(request.partition, share.next_offset, share.bytes_left)
        rows = await self._find([following], bytes_max=share.bytes_left, runs_max=_RUNS_OF_ALL)
        runs = [FoundRun(*columns) for _, _, _, *columns in rows if columns[0] is not None]
        if runs and runs[0].base_offset > share.next_offset:
            return []
        return [run for run in runs if run.base_offset < high_watermark]


def _judge(request: FindRequest, bounds: tuple[int, int] | None) -> ErrorCode:
    if bounds is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not bounds[0] <= request.offset <= bounds[1]:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    return ErrorCode.NONE

"""Finding runs by offset and by timestamp, each call in one statement, so that all of it sees one state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
"""Runs that the first statement reads of a partition; where its share is not used up, others go on."""
_RUNS_OF_ALL = 1024
"""Runs that one statement reads of all partitions together, four for each at the least."""
_GROWTH = 4
"""How many times more runs of a partition each further statement reads."""

_RUN_COLUMNS = """r.base_offset, r.last_offset, r.byte_start, r.byte_length, r.batch_index, r.object_id,
        r.object_key, r.object_byte_length, r.committed_ms, r.kind = 1"""

_WANTED_LOGS = """unnest($1::integer[], $2::bytea[], $3::integer[]) WITH ORDINALITY
        AS w (shard, topic_id, partition_index, position)
    JOIN partitions AS p USING (shard, topic_id, partition_index) JOIN logs AS l USING (partition_key)"""

_BOUNDS = f"SELECT w.position, l.log_start_offset, l.high_watermark FROM {_WANTED_LOGS}"  # noqa: S608 a constant

# For each partition the run that holds the offset, and those that begin within its bytes. Of a run that
# begins before the offset an unknown part is wanted, so it does not count.
_FIND = f"""
    SELECT w.position, l.log_start_offset, l.high_watermark, {_RUN_COLUMNS}
    FROM unnest($1::integer[], $2::bytea[], $3::integer[], $4::bigint[], $5::bigint[]) WITH ORDINALITY
        AS w (shard, topic_id, partition_index, from_offset, bytes_max, position)
    JOIN partitions AS p USING (shard, topic_id, partition_index) JOIN logs AS l USING (partition_key)
    LEFT JOIN LATERAL (
        SELECT n.*, sum(n.counted) OVER (ORDER BY n.last_offset) - n.counted AS bytes_before
        FROM (
            SELECT *, CASE WHEN base_offset >= w.from_offset THEN byte_length ELSE 0 END AS counted FROM runs
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


@dataclass(slots=True)
class _FoundLog:
    """A log's bounds, and its runs from a request's offset on, as far as they were read."""

    log_start: int
    high_watermark: int
    runs: list[FoundRun] = field(default_factory=list)
    bytes_counted: int = 0
    has_more: bool = True

    def following(self, request: FindRequest) -> FindRequest:
        """What to ask for next."""
        if not self.runs:
            return request
        bytes_left = request.bytes_max - self.bytes_counted
        return FindRequest(request.partition, self.runs[-1].last_offset + 1, bytes_left)

    def add(self, runs: Sequence[FoundRun], *, from_offset: int, has_more: bool) -> None:
        """Another statement sees another state: it may have runs beyond the high watermark of the answer, and
        those in between may be gone, with which the answer ends."""
        if not runs or (self.runs and runs[0].base_offset > from_offset):
            self.has_more = False
            return
        for run in runs:
            if run.base_offset < self.high_watermark:
                self.runs.append(run)
                self.bytes_counted += run.byte_length if run.base_offset >= from_offset else 0
        self.has_more = has_more and self.runs[-1].last_offset + 1 < self.high_watermark


class Finder:
    """Answers from the pool of the finds."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find_batches(self, requests: Sequence[FindRequest], *, bytes_max: int) -> list[FindResult]:
        logs: dict[int, _FoundLog] = {}
        hungry = list(range(len(requests)))
        runs_max = _RUNS_MAX
        while hungry:
            runs_max = min(runs_max, max(4, _RUNS_OF_ALL // len(hungry)))
            await self._read_more(requests, logs, hungry, bytes_max=bytes_max, runs_max=runs_max)
            hungry = _hungry(requests, logs, bytes_max)
            runs_max *= _GROWTH
        total = FindBudget(bytes_max)
        return [
            await self._answer(request, logs.get(position), total)
            for position, request in enumerate(requests)
        ]

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

    async def _read_more(
        self,
        requests: Sequence[FindRequest],
        logs: dict[int, _FoundLog],
        positions: Sequence[int],
        *,
        bytes_max: int,
        runs_max: int,
    ) -> None:
        asked = [
            logs[position].following(requests[position]) if position in logs else requests[position]
            for position in positions
        ]
        found: dict[int, list[FoundRun]] = {}
        for number, log_start, high_watermark, *columns in await self._find(
            asked, bytes_max=bytes_max, runs_max=runs_max
        ):
            logs.setdefault(positions[number - 1], _FoundLog(log_start, high_watermark))
            if columns[0] is not None:
                found.setdefault(number - 1, []).append(FoundRun(*columns))
        for number, position in enumerate(positions):
            if position in logs:
                runs = found.get(number, [])
                logs[position].add(runs, from_offset=asked[number].offset, has_more=len(runs) == runs_max)

    async def _find(self, requests: Sequence[FindRequest], *, bytes_max: int, runs_max: int) -> list[Any]:
        return await self._pool.fetch(
            _FIND,
            *partition_columns([request.partition for request in requests]),
            [request.offset for request in requests],
            [min(request.bytes_max, bytes_max) for request in requests],
            runs_max,
        )

    async def _answer(self, request: FindRequest, log: _FoundLog | None, total: FindBudget) -> FindResult:
        if log is None:
            return FindResult(request.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1, [])
        bounds = (log.log_start, log.high_watermark)
        if not log.log_start <= request.offset <= log.high_watermark:
            return FindResult(request.partition, ErrorCode.OFFSET_OUT_OF_RANGE, *bounds, [])
        share = PartitionBudget(request.offset, request.bytes_max)
        taken: list[Coordinates] = []
        position = 0
        while not share.full:
            if position == len(log.runs):
                if not log.has_more:
                    break
                # Seldom: those before it could not use up what was set aside for them.
                left = {0: log}
                await self._read_more([request], left, [0], bytes_max=total.bytes_left, runs_max=_RUNS_MAX)
                continue
            coordinates = take_from_run(log.runs[position], share, total)
            if coordinates is not None:
                taken.append(coordinates)
            position += 1
        return FindResult(request.partition, ErrorCode.NONE, *bounds, taken)


def _hungry(requests: Sequence[FindRequest], logs: Mapping[int, _FoundLog], bytes_max: int) -> list[int]:
    """The positions of the requests that can use more runs, when those before them use all that they have."""
    hungry = []
    for position, request in enumerate(requests):
        if bytes_max <= 0:
            break
        log = logs.get(position)
        if log is not None:
            if log.has_more and log.bytes_counted <= min(request.bytes_max, bytes_max):
                hungry.append(position)
            bytes_max -= min(log.bytes_counted, request.bytes_max)
    return hungry

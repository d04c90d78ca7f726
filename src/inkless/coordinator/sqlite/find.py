"""Finding runs by offset and by timestamp, inside a read transaction."""

import json
import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from inkless.coordinator.find_plan import FindBudget, FoundRun, PartitionBudget, take_from_run, whole_run
from inkless.coordinator.sqlite.connection import fetch_list
from inkless.coordinator.sqlite.partition_keys import PartitionKeys
from inkless.coordinator.types import (
    Coordinates,
    FindRequest,
    FindResult,
    ObjectId,
    OffsetBounds,
    PartitionId,
    TimestampHit,
)
from inkless.protocol.error_codes import ErrorCode

_RUNS_MAX = 64
"""Runs that one statement reads of a partition; where its share is not used up, another one goes on."""
_RUNS_OF_ALL = 1024
"""Runs that one statement reads of all partitions together, four for each at the least."""

_FEW = 8
"""Up to so many partitions are asked for one by one."""

_BOUNDS = """
    SELECT json_group_array(json_array(partition_key, log_start_offset, high_watermark))
    FROM logs WHERE partition_key IN (SELECT value FROM json_each(?))
"""
# CROSS JOIN keeps SQLite to the order of the tables; the rows of a partition come in the order of the key.
_RUNS = """
    WITH wanted AS (
        SELECT key AS position, json_extract(value, '$[0]') AS partition_key,
            json_extract(value, '$[1]') AS from_offset, json_extract(value, '$[2]') AS bytes_max
        FROM json_each(?1))
    SELECT json_group_array(json_array(
        w.position, r.base_offset, r.last_offset, r.byte_start, r.byte_length, hex(r.batch_index),
        hex(o.object_id), o.object_key, o.byte_length, o.committed_ms, o.kind))
    FROM wanted AS w CROSS JOIN runs AS r CROSS JOIN objects AS o
    WHERE r.partition_key = w.partition_key AND r.last_offset >= w.from_offset
        AND r.last_offset <= (
            SELECT max(last_offset) FROM (
                SELECT last_offset, sum(byte_length) OVER (ORDER BY last_offset) - byte_length AS bytes_before
                FROM (
                    SELECT last_offset, byte_length FROM runs
                    WHERE partition_key = w.partition_key AND last_offset >= w.from_offset
                    ORDER BY last_offset LIMIT ?2))
            WHERE bytes_before <= w.bytes_max)
        AND o.object_number = r.object_number
"""
# The same for a single partition, without the detour through JSON that many of them need.
_BOUNDS_OF_ONE = "SELECT partition_key, log_start_offset, high_watermark FROM logs WHERE partition_key = ?"
_RUNS_OF_ONE = """
    SELECT r.base_offset, r.last_offset, r.byte_start, r.byte_length, r.batch_index,
        o.object_id, o.object_key, o.byte_length, o.committed_ms, o.kind
    FROM runs AS r CROSS JOIN objects AS o
    WHERE r.partition_key = ? AND r.last_offset >= ? AND o.object_number = r.object_number
    ORDER BY r.last_offset LIMIT ?
"""
_TIMESTAMPS_AT = """
    SELECT running_max_timestamp_ms, max_timestamp_ms FROM runs
    WHERE partition_key = ? AND last_offset >= ? ORDER BY last_offset LIMIT 1
"""
_SCAN_FOR_TIMESTAMP = """
    SELECT last_offset FROM runs
    WHERE partition_key = ? AND last_offset >= ? AND max_timestamp_ms >= ? ORDER BY last_offset LIMIT 1
"""
_GREATEST_TIMESTAMP = "SELECT max(max_timestamp_ms) FROM runs WHERE partition_key = ? AND last_offset >= ?"


class _Log(NamedTuple):
    partition_key: int
    log_start_offset: int
    high_watermark: int


class _Wanted(NamedTuple):
    partition_key: int
    from_offset: int
    bytes_max: int


class Finder:
    """Answers from one connection; every method runs within a transaction that the caller has begun."""

    def __init__(self, connection: sqlite3.Connection, *, entries_max: int) -> None:
        self._connection = connection
        self._keys = PartitionKeys(connection, entries_max=entries_max)

    def find_batches(self, requests: Sequence[FindRequest], *, bytes_max: int) -> list[FindResult]:
        logs = self._logs(request.partition for request in requests)
        verdicts = [_judge(request, logs.get(request.partition)) for request in requests]
        hungry = {
            position: _Wanted(
                logs[request.partition].partition_key, request.offset, min(request.bytes_max, bytes_max)
            )
            for position, request in enumerate(requests)
            if verdicts[position] is ErrorCode.NONE
            and request.offset < logs[request.partition].high_watermark
        }
        found = self._runs(list(hungry.values()))
        runs_by_position = dict(zip(hungry, found, strict=True))
        total = FindBudget(bytes_max)
        results = []
        for position, request in enumerate(requests):
            log = logs.get(request.partition, _Log(-1, -1, -1))
            runs = runs_by_position.get(position, [])
            taken = self._take(log, request, runs, total) if runs else []
            results.append(
                FindResult(
                    request.partition, verdicts[position], log.log_start_offset, log.high_watermark, taken
                )
            )
        return results

    def _take(
        self, log: _Log, request: FindRequest, runs: Sequence[FoundRun], total: FindBudget
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
            if share.next_offset >= log.high_watermark:
                return taken
            (runs,) = self._runs([_Wanted(log.partition_key, share.next_offset, share.bytes_left)])
        return taken

    def offset_bounds(self, partitions: Sequence[PartitionId]) -> list[OffsetBounds]:
        logs = self._logs(partitions)
        return [
            OffsetBounds(partition, ErrorCode.NONE, logs[partition][1], logs[partition][2])
            if partition in logs
            else OffsetBounds(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
            for partition in partitions
        ]

    def find_by_timestamp(self, lookups: Sequence[tuple[PartitionId, int]]) -> list[TimestampHit]:
        logs = self._logs(partition for partition, _ in lookups)
        return [
            self._timestamp_hit(partition, logs.get(partition), timestamp_ms)
            for partition, timestamp_ms in lookups
        ]

    def find_max_timestamp(self, partitions: Sequence[PartitionId]) -> list[TimestampHit]:
        logs = self._logs(partitions)
        return [self._timestamp_hit(partition, logs.get(partition), None) for partition in partitions]

    def _timestamp_hit(
        self, partition: PartitionId, log: _Log | None, timestamp_ms: int | None
    ) -> TimestampHit:
        if log is None:
            return TimestampHit(partition, -1, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
        if timestamp_ms is None:
            timestamp_ms = self._greatest_timestamp(log)
        offset = None if timestamp_ms is None else self._first_offset(log, timestamp_ms)
        coordinates = None
        if offset is not None:
            ((run,),) = self._runs([_Wanted(log.partition_key, offset, 0)], runs_max=1)
            coordinates = whole_run(run)
        return TimestampHit(partition, log.log_start_offset, log.high_watermark, ErrorCode.NONE, coordinates)

    def _greatest_timestamp(self, log: _Log) -> int | None:
        if log.log_start_offset == log.high_watermark:
            return None
        running_max_ms, _ = self._timestamps_at(log, log.high_watermark - 1)
        first = self._first_offset(log, running_max_ms)
        if first is not None:
            return running_max_ms
        # The greatest of all was in a run that is forgotten, so the living ones must be looked through.
        (greatest,) = self._connection.execute(
            _GREATEST_TIMESTAMP, (log.partition_key, log.log_start_offset)
        ).fetchone()
        return int(greatest)

    def _first_offset(self, log: _Log, timestamp_ms: int) -> int | None:
        """An offset in the first run whose greatest timestamp is not smaller."""
        offsets = range(log.log_start_offset, log.high_watermark)
        position = bisect_left(offsets, timestamp_ms, key=lambda offset: self._timestamps_at(log, offset)[0])
        if position == len(offsets):
            return None
        if self._timestamps_at(log, offsets[position])[1] >= timestamp_ms:
            return offsets[position]
        # A forgotten run had a greater timestamp than those after it, so bisection stops at the first living
        # run; only then is the log looked through.
        row = self._connection.execute(
            _SCAN_FOR_TIMESTAMP, (log.partition_key, log.log_start_offset, timestamp_ms)
        ).fetchone()
        return None if row is None else int(row[0])

    def _timestamps_at(self, log: _Log, offset: int) -> tuple[int, int]:
        """The greatest timestamp of the log up to the run that holds the offset, and that of the run."""
        row: tuple[int, int] = self._connection.execute(
            _TIMESTAMPS_AT, (log.partition_key, offset)
        ).fetchone()
        return row

    def _logs(self, partitions: Iterable[PartitionId]) -> dict[PartitionId, _Log]:
        keys = self._keys.find(list(partitions))
        if not keys:
            return {}
        if len(keys) <= _FEW:
            rows = [self._connection.execute(_BOUNDS_OF_ONE, (key,)).fetchone() for key in keys.values()]
        else:
            rows = fetch_list(self._connection, _BOUNDS, (json.dumps(list(keys.values())),))
        logs = {row[0]: _Log(*row) for row in rows if row is not None}
        return {partition: logs[key] for partition, key in keys.items() if key in logs}

    def _runs(self, wanted: Sequence[_Wanted], runs_max: int = _RUNS_MAX) -> list[list[FoundRun]]:
        """For each partition the run that holds the offset, and those that begin within its bytes."""
        found: list[list[FoundRun]] = [[] for _ in wanted]
        if not wanted:
            return found
        if len(wanted) <= _FEW:
            return [self._runs_of_one(each, runs_max) for each in wanted]
        runs_max = min(runs_max, max(4, _RUNS_OF_ALL // len(wanted)))
        for position, *columns in fetch_list(self._connection, _RUNS, (json.dumps(wanted), runs_max)):
            found[position].append(_found_run(columns))
        return found

    def _runs_of_one(self, wanted: _Wanted, runs_max: int) -> list[FoundRun]:
        found: list[FoundRun] = []
        bytes_before = 0
        rows = self._connection.execute(_RUNS_OF_ONE, (wanted.partition_key, wanted.from_offset, runs_max))
        for row in rows:
            if bytes_before > wanted.bytes_max:
                rows.close()
                break
            run = FoundRun(*row)
            found.append(run)
            bytes_before += run.byte_length
        return found


def _judge(request: FindRequest, log: _Log | None) -> ErrorCode:
    if log is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not log.log_start_offset <= request.offset <= log.high_watermark:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    return ErrorCode.NONE


def _found_run(columns: Sequence[Any]) -> FoundRun:
    base_offset, last_offset, byte_start, byte_length, index, object_id, key, size, committed_ms, kind = (
        columns
    )
    return FoundRun(
        base_offset,
        last_offset,
        byte_start,
        byte_length,
        bytes.fromhex(index) if index else None,
        ObjectId(bytes.fromhex(object_id)),
        key,
        size,
        committed_ms,
        bool(kind),
    )

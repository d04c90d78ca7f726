"""Forgetting runs: moved log starts and deleted topics.

The visible change (the log start, the topic) is one transaction, which also notes the runs to forget. They
are then forgotten in bounded steps; a note outlives a crash, and whoever comes next carries it out.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence

from inkless.coordinator.append import LogTail
from inkless.coordinator.sqlite.connection import fetch_list
from inkless.coordinator.types import DeleteRecordsRequest, DeleteRecordsResult
from inkless.protocol.error_codes import ErrorCode

_NO_OFFSET_IS_GREATER = 2**63 - 1

_MOVE_LOG_START = "UPDATE logs SET log_start_offset = ? WHERE partition_key = ?"
_NOTE_TRIM = """
    INSERT INTO pending_trims VALUES (?, ?, ?) ON CONFLICT (partition_key) DO UPDATE
    SET before_offset = max(before_offset, excluded.before_offset),
        whole_log = max(whole_log, excluded.whole_log)
"""
_NEXT_TRIM = (
    "SELECT partition_key, before_offset, whole_log FROM pending_trims ORDER BY partition_key LIMIT 1"
)
_RUNS_TO_FORGET = """
    SELECT json_group_array(json_array(last_offset, byte_length, object_number)) FROM (
        SELECT last_offset, byte_length, object_number FROM runs
        WHERE partition_key = ? AND last_offset < ? ORDER BY last_offset LIMIT ?)
"""
_FORGET_RUNS = "DELETE FROM runs WHERE partition_key = ? AND last_offset <= ?"
_SHRINK_LOG = "UPDATE logs SET byte_length = byte_length - ? WHERE partition_key = ?"
_RELEASE_OBJECTS = """
    UPDATE objects
    SET run_count = run_count - released.runs,
        unreferenced_since_ms = CASE WHEN run_count = released.runs THEN ? END
    FROM (SELECT json_extract(value, '$[0]') AS object_number, json_extract(value, '$[1]') AS runs
        FROM json_each(?)) AS released
    WHERE objects.object_number = released.object_number
"""


def move_log_starts(
    connection: sqlite3.Connection, requests: Sequence[tuple[DeleteRecordsRequest, LogTail | None]]
) -> list[DeleteRecordsResult]:
    """Moves log starts forward and notes the runs before them."""
    return [_move_log_start(connection, request, tail) for request, tail in requests]


def _move_log_start(
    connection: sqlite3.Connection, request: DeleteRecordsRequest, tail: LogTail | None
) -> DeleteRecordsResult:
    if tail is None:
        return DeleteRecordsResult(request.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    offset = tail.high_watermark if request.before_offset == -1 else request.before_offset
    if not 0 <= offset <= tail.high_watermark:
        return DeleteRecordsResult(request.partition, ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    if offset > tail.log_start_offset:
        tail.log_start_offset = offset
        connection.execute(_MOVE_LOG_START, (offset, tail.partition_key))
        connection.execute(_NOTE_TRIM, (tail.partition_key, offset, 0))
    return DeleteRecordsResult(request.partition, ErrorCode.NONE, tail.log_start_offset)


def note_whole_logs(connection: sqlite3.Connection, partition_keys: Sequence[int]) -> None:
    """For partitions that are gone: all their runs and producers are to be forgotten."""
    connection.executemany(_NOTE_TRIM, [(key, _NO_OFFSET_IS_GREATER, 1) for key in partition_keys])


def trim_step(connection: sqlite3.Connection, *, runs_max: int, now_ms: int) -> bool:
    """Forgets up to `runs_max` runs; true while there may be more to do."""
    while runs_max > 0:
        trim = connection.execute(_NEXT_TRIM).fetchone()
        if trim is None:
            return False
        partition_key, before_offset, whole_log = trim
        runs = fetch_list(connection, _RUNS_TO_FORGET, (partition_key, before_offset, runs_max))
        if runs:
            _forget_runs(connection, partition_key, runs, now_ms)
        if len(runs) < runs_max:
            _end_trim(connection, partition_key, whole_log=bool(whole_log))
        # A log without runs counts too, or a topic of many empty partitions would be one long transaction.
        runs_max -= len(runs) + 1
    return True


def _forget_runs(
    connection: sqlite3.Connection, partition_key: int, runs: Sequence[tuple[int, int, int]], now_ms: int
) -> None:
    connection.execute(_FORGET_RUNS, (partition_key, runs[-1][0]))
    connection.execute(_SHRINK_LOG, (sum(run[1] for run in runs), partition_key))
    released = Counter(run[2] for run in runs)
    connection.execute(_RELEASE_OBJECTS, (now_ms, json.dumps(list(released.items()))))


def _end_trim(connection: sqlite3.Connection, partition_key: int, *, whole_log: bool) -> None:
    if whole_log:
        connection.execute("DELETE FROM producers WHERE partition_key = ?", (partition_key,))
    connection.execute("DELETE FROM pending_trims WHERE partition_key = ?", (partition_key,))

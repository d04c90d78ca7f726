"""Which runs at the start of a log a limit no longer covers, worked out inside a read transaction.

A run that is too old, or has enough bytes behind it, stays so whatever is committed meanwhile. So what is
worked out here is still right when the log start is moved, in a later transaction that reads no runs.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import NamedTuple

from inkless.coordinator.types import DeleteRecordsResult, PartitionId, RetentionLimit, RetentionResult
from inkless.protocol.error_codes import ErrorCode

_LOG = """
    SELECT l.partition_key, l.log_start_offset, l.byte_length,
        EXISTS (SELECT 1 FROM pending_trims AS t WHERE t.partition_key = l.partition_key)
    FROM partitions AS p CROSS JOIN logs AS l ON l.partition_key = p.partition_key
    WHERE p.shard = ? AND p.topic_id = ? AND p.partition_index = ?
"""
# Records without timestamps are as old as their commit, or they would be deleted as soon as they came.
_RUNS_FROM = """
    SELECT last_offset, byte_length, CASE WHEN max_timestamp_ms >= 0 THEN max_timestamp_ms ELSE
        (SELECT committed_ms FROM objects WHERE objects.object_number = runs.object_number) END
    FROM runs WHERE partition_key = ? AND last_offset >= ? ORDER BY last_offset LIMIT ?
"""


class PlannedStart(NamedTuple):
    """Where a log starts, and where it should."""

    present_offset: int
    planned_offset: int
    has_runs_to_forget: bool
    """Left by an earlier move of the log start."""


def plan_retention(
    connection: sqlite3.Connection, *, limits: Sequence[RetentionLimit], runs_max: int
) -> list[PlannedStart | None]:
    """In the order of the limits; None where there is no such partition.

    Looks at `runs_max` runs in all, and at one of each partition at least, so that all of them get on.
    """
    share = max(1, runs_max // max(1, len(limits)))
    return [_plan(connection, limit, share) for limit in limits]


def _plan(connection: sqlite3.Connection, limit: RetentionLimit, runs_max: int) -> PlannedStart | None:
    log = connection.execute(_LOG, limit.partition).fetchone()
    if log is None:
        return None
    partition_key, log_start, bytes_left, has_runs_to_forget = log
    # The length counts runs that are still to be forgotten, so it would make the log look larger than it is.
    limits_size = limit.bytes_max >= 0 and not has_runs_to_forget
    offset = log_start
    with closing(connection.execute(_RUNS_FROM, (partition_key, log_start, runs_max))) as runs:
        # Read one by one: most of the time the first run stays.
        for last_offset, byte_length, timestamp_ms in runs:
            is_old = timestamp_ms < limit.keep_since_ms
            bytes_left -= byte_length
            if not is_old and not (limits_size and bytes_left >= limit.bytes_max):
                break
            offset = last_offset + 1
    return PlannedStart(log_start, offset, bool(has_runs_to_forget))


def retention_result(
    partition: PartitionId, plan: PlannedStart | None, moved: DeleteRecordsResult | None
) -> RetentionResult:
    """`moved` is what came of it where the log start was to move."""
    if moved is not None:
        return RetentionResult(partition, moved.error, moved.log_start_offset)
    if plan is None:
        return RetentionResult(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    return RetentionResult(partition, ErrorCode.NONE, plan.present_offset)

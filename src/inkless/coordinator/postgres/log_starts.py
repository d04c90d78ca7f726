"""Moving log starts and forgetting the runs before them, under the lock of the logs.

The visible change (the log start, the topic) is one transaction, which also notes the runs to forget. They
are then forgotten in bounded steps; a note outlives a crash, and whoever comes next carries it out.
"""

from collections.abc import Sequence
from typing import NamedTuple

from inkless.coordinator.postgres.commit import partition_columns
from inkless.coordinator.postgres.connections import Connection
from inkless.coordinator.types import DeleteRecordsRequest, DeleteRecordsResult, PartitionId, RetentionLimit
from inkless.protocol.error_codes import ErrorCode

_LOGS = """
    SELECT w.position, l.partition_key, l.log_start_offset, l.high_watermark
    FROM unnest($1::integer[], $2::bytea[], $3::integer[]) WITH ORDINALITY
        AS w (shard, topic_id, partition_index, position)
    JOIN partitions AS p USING (shard, topic_id, partition_index) JOIN logs AS l USING (partition_key)
"""
_MOVE = """
    WITH wanted AS (
        SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS w (partition_key, log_start_offset)
    ), noted AS (
        INSERT INTO pending_trims AS t SELECT partition_key, log_start_offset, FALSE FROM wanted
        ON CONFLICT (partition_key) DO UPDATE
        SET before_offset = greatest(t.before_offset, excluded.before_offset)
    )
    UPDATE logs AS l SET log_start_offset = wanted.log_start_offset
    FROM wanted WHERE l.partition_key = wanted.partition_key AND l.log_start_offset < wanted.log_start_offset
"""
# Runs go from the start of the log up to the first that stays. Records without timestamps are as old as their
# commit, or they would be deleted as soon as they came. The length of a log counts runs that are still to be
# forgotten, which would make it look larger than it is: they are taken off, and there are seldom any.
_PLAN = """
    SELECT w.position, l.log_start_offset, t.partition_key IS NOT NULL, planned.offset_after
    FROM unnest($1::integer[], $2::bytea[], $3::integer[], $4::bigint[], $5::bigint[]) WITH ORDINALITY
        AS w (shard, topic_id, partition_index, keep_since_ms, bytes_max, position)
    JOIN partitions AS p USING (shard, topic_id, partition_index) JOIN logs AS l USING (partition_key)
    LEFT JOIN pending_trims AS t USING (partition_key)
    CROSS JOIN LATERAL (
        SELECT l.byte_length - coalesce((
            SELECT sum(f.byte_length) FROM runs AS f
            WHERE t.partition_key IS NOT NULL AND f.partition_key = l.partition_key
                AND f.last_offset < l.log_start_offset), 0) AS byte_length
    ) AS living
    CROSS JOIN LATERAL (
        SELECT max(last_offset) + 1 AS offset_after FROM (
            SELECT last_offset, bool_and(is_old OR bytes_behind >= w.bytes_max AND w.bytes_max >= 0)
                OVER (ORDER BY last_offset) AS goes
            FROM (
                SELECT last_offset,
                    CASE WHEN max_timestamp_ms >= 0 THEN max_timestamp_ms ELSE committed_ms END
                        < w.keep_since_ms AS is_old,
                    living.byte_length - sum(byte_length) OVER (ORDER BY last_offset) AS bytes_behind
                FROM (
                    SELECT r.last_offset, r.byte_length, r.max_timestamp_ms, r.committed_ms FROM runs AS r
                    WHERE r.partition_key = l.partition_key AND r.last_offset >= l.log_start_offset
                    ORDER BY r.last_offset LIMIT $6) AS first_runs
            ) AS measured
        ) AS judged WHERE goes
    ) AS planned
"""


class PlannedStart(NamedTuple):
    """Where a log starts, and where it should."""

    present_offset: int
    planned_offset: int
    has_runs_to_forget: bool
    """Left by an earlier move of the log start."""


async def move_log_starts(
    connection: Connection, requests: Sequence[DeleteRecordsRequest]
) -> list[DeleteRecordsResult]:
    """Moves log starts forward and notes the runs before them."""
    rows = await connection.fetch(_LOGS, *partition_columns([request.partition for request in requests]))
    logs = {position - 1: tuple(columns) for position, *columns in rows}
    starts: dict[int, int] = {}
    moved: set[int] = set()
    results = []
    for position, (partition, before_offset) in enumerate(requests):
        if position not in logs:
            results.append(DeleteRecordsResult(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1))
            continue
        key, log_start, high_watermark = logs[position]
        offset = high_watermark if before_offset == -1 else before_offset
        if not 0 <= offset <= high_watermark:
            results.append(DeleteRecordsResult(partition, ErrorCode.OFFSET_OUT_OF_RANGE, -1))
            continue
        present = starts.setdefault(key, log_start)
        if offset > present:
            starts[key] = offset
            moved.add(key)
        results.append(DeleteRecordsResult(partition, ErrorCode.NONE, starts[key]))
    if moved:
        keys = sorted(moved)
        await connection.execute(_MOVE, keys, [starts[key] for key in keys])
    return results


async def plan_retention(
    connection: Connection, limits: Sequence[RetentionLimit], *, runs_max: int
) -> list[PlannedStart | None]:
    """In the order of the limits; None where there is no such partition.

    Looks at `runs_max` runs in all, and at one of each partition at least, so that all of them get on. A run
    that is too old, or has enough bytes behind it, stays so whatever is committed meanwhile: what is worked
    out here is still right when the log start is moved by a later transaction.
    """
    partitions: list[PartitionId] = [limit.partition for limit in limits]
    rows = await connection.fetch(
        _PLAN,
        *partition_columns(partitions),
        [limit.keep_since_ms for limit in limits],
        [limit.bytes_max for limit in limits],
        max(1, runs_max // max(1, len(limits))),
    )
    plans: list[PlannedStart | None] = [None] * len(limits)
    for position, present, has_runs_to_forget, planned in rows:
        plans[position - 1] = PlannedStart(
            present, present if planned is None else planned, has_runs_to_forget
        )
    return plans


async def forget_noted_runs(connection: Connection, *, runs_max: int, now_ms: int) -> bool:
    """Forgets up to `runs_max` runs; true while there may be more to do."""
    return bool(await connection.fetchval("SELECT forget_noted_runs($1, $2)", runs_max, now_ms))

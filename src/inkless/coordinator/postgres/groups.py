"""Groups and their committed offsets; all checks before the first write.

A change locks the rows of its groups, in the order of their ids, then rows of offsets in the order of their
key, and nothing else. So a fence that was found valid stays so until the change is visible.
"""

from collections.abc import Mapping, Sequence

from inkless.coordinator.postgres.commit import partition_columns
from inkless.coordinator.postgres.connections import Connection
from inkless.coordinator.types import (
    CommittedOffset,
    GroupClaim,
    GroupFence,
    PartitionId,
    StoredGroup,
    TopicId,
)
from inkless.errors import RequestError
from inkless.protocol.error_codes import ErrorCode

_CLAIM = """
    INSERT INTO consumer_groups AS g
        (group_id, broker_id, incarnation, epoch, generation, protocol_type, used_ms)
    VALUES ($1, $2, $3, 1, 0, '', $4)
    ON CONFLICT (group_id) DO UPDATE SET
        epoch = g.epoch + (g.incarnation <> excluded.incarnation)::integer,
        broker_id = excluded.broker_id, incarnation = excluded.incarnation, used_ms = excluded.used_ms
    RETURNING epoch, generation, protocol_type
"""
# The order is that in which the rows are locked.
_FENCED_KEYS = """
    SELECT w.position, g.group_key
    FROM unnest($1::bytea[], $2::bytea[], $3::bigint[]) WITH ORDINALITY
        AS w (group_id, incarnation, epoch, position)
    JOIN consumer_groups AS g USING (group_id, incarnation, epoch)
    ORDER BY g.group_id FOR UPDATE OF g
"""
_RECORD_GENERATION = """
    UPDATE consumer_groups SET generation = greatest(generation, $1), protocol_type = $2, used_ms = $3
    WHERE group_key = $4
"""
_PUT_OFFSETS = """
    INSERT INTO group_offsets (group_key, shard, topic_id, partition_index, committed_offset, leader_epoch,
        metadata, committed_ms)
    SELECT * FROM unnest($1::bigint[], $2::integer[], $3::bytea[], $4::integer[], $5::bigint[], $6::integer[],
        $7::bytea[], $8::bigint[])
    ON CONFLICT (group_key, topic_id, partition_index, shard) DO UPDATE SET
        committed_offset = excluded.committed_offset, leader_epoch = excluded.leader_epoch,
        metadata = excluded.metadata, committed_ms = excluded.committed_ms
"""
_OFFSETS = """
    SELECT shard, topic_id, partition_index, committed_offset, leader_epoch, metadata, committed_ms
    FROM group_offsets
    WHERE group_key = (SELECT group_key FROM consumer_groups WHERE group_id = $1)
        AND ($2::bytea[] IS NULL OR topic_id = ANY ($2::bytea[]))
"""
_DELETE_OFFSETS = """
    DELETE FROM group_offsets AS o
    USING unnest($2::integer[], $3::bytea[], $4::integer[]) AS w (shard, topic_id, partition_index)
    WHERE o.group_key = $1 AND o.shard = w.shard AND o.topic_id = w.topic_id
        AND o.partition_index = w.partition_index
"""
_LOCK_OFFSETS_OF_TOPIC = """
    SELECT 1 FROM group_offsets WHERE topic_id = $1
    ORDER BY group_key, topic_id, partition_index, shard FOR UPDATE
"""
_GROUPS = """
    SELECT group_id, broker_id, generation, protocol_type FROM consumer_groups
    WHERE $1::bytea[] IS NULL OR group_id = ANY ($1::bytea[]) ORDER BY group_id
"""
_TOUCH = "UPDATE consumer_groups SET used_ms = $1 WHERE group_key = ANY ($2::bigint[])"
# Rows that others hold are in use, so nobody is waited for here.
_LOCK_UNUSED = """
    SELECT group_key FROM consumer_groups AS g
    WHERE used_ms < $1 AND NOT EXISTS (
        SELECT 1 FROM group_offsets AS o WHERE o.group_key = g.group_key AND o.committed_ms >= $1)
    ORDER BY used_ms LIMIT $2 FOR UPDATE SKIP LOCKED
"""
_DELETE_UNUSED = """
    DELETE FROM consumer_groups AS g
    WHERE group_key = ANY ($2::bigint[]) AND used_ms < $1 AND NOT EXISTS (
        SELECT 1 FROM group_offsets AS o WHERE o.group_key = g.group_key AND o.committed_ms >= $1)
    RETURNING group_key, group_id
"""
_DELETE_OFFSETS_OF_GROUPS = "DELETE FROM group_offsets WHERE group_key = ANY ($1::bigint[])"

_OffsetKey = tuple[int, TopicId, int, int]


async def claim_group(
    connection: Connection, group_id: str, *, broker_id: int, incarnation: bytes, now_ms: int
) -> GroupClaim:
    row = await connection.fetchrow(_CLAIM, group_id.encode(), broker_id, incarnation, now_ms)
    epoch, generation, protocol_type = tuple(row or ())
    return GroupClaim(GroupFence(group_id, incarnation, epoch), generation, protocol_type.decode())


async def record_generation(
    connection: Connection, fence: GroupFence, *, generation: int, protocol_type: str, now_ms: int
) -> None:
    key = await _fenced_key(connection, fence)
    await connection.execute(_RECORD_GENERATION, generation, protocol_type.encode(), now_ms, key)


async def commit_offsets(
    connection: Connection, commits: Sequence[tuple[GroupFence, Mapping[PartitionId, CommittedOffset]]]
) -> list[RequestError | None]:
    """Of many callers together; for each its error, or None. A later one wins over an earlier one."""
    keys = await _fenced_keys(connection, [fence for fence, _ in commits])
    rows: dict[_OffsetKey, CommittedOffset] = {}
    for position, (_, offsets) in enumerate(commits):
        if position in keys:
            for (shard, topic_id, index), offset in offsets.items():
                rows[keys[position], topic_id, index, shard] = offset
    if rows:
        await connection.execute(_PUT_OFFSETS, *_offset_columns(rows))
    return [
        None if position in keys else _not_coordinator(fence) for position, (fence, _) in enumerate(commits)
    ]


def _offset_columns(rows: Mapping[_OffsetKey, CommittedOffset]) -> tuple[Sequence[object], ...]:
    columns = [
        (
            group_key,
            shard,
            topic_id,
            index,
            offset.offset,
            offset.leader_epoch,
            offset.metadata.encode(),
            offset.committed_ms,
        )
        for (group_key, topic_id, index, shard), offset in sorted(rows.items())
    ]
    return tuple(zip(*columns, strict=True))


async def fetch_offsets(
    connection: Connection, group_id: str, partitions: Sequence[PartitionId] | None
) -> dict[PartitionId, CommittedOffset]:
    topics = None if partitions is None else list({partition.topic_id for partition in partitions})
    found = {
        PartitionId(shard, topic_id, index): CommittedOffset(
            offset, leader_epoch, metadata.decode(), committed_ms
        )
        for shard, topic_id, index, offset, leader_epoch, metadata, committed_ms in await connection.fetch(
            _OFFSETS, group_id.encode(), topics
        )
    }
    if partitions is None:
        return found
    return {partition: found[partition] for partition in partitions if partition in found}


async def delete_offsets(
    connection: Connection, fence: GroupFence, partitions: Sequence[PartitionId]
) -> None:
    key = await _fenced_key(connection, fence)
    await connection.execute(_DELETE_OFFSETS, key, *partition_columns(partitions))


async def delete_offsets_of_topic(connection: Connection, topic_id: TopicId) -> None:
    """Part of the deletion of a topic."""
    await connection.execute(_LOCK_OFFSETS_OF_TOPIC, topic_id)
    await connection.execute("DELETE FROM group_offsets WHERE topic_id = $1", topic_id)


async def load_groups(connection: Connection, group_ids: Sequence[str] | None) -> list[StoredGroup]:
    asked = None if group_ids is None else [group_id.encode() for group_id in group_ids]
    return [
        StoredGroup(group_id.decode(), broker_id, generation, protocol_type.decode())
        for group_id, broker_id, generation, protocol_type in await connection.fetch(_GROUPS, asked)
    ]


async def delete_group(connection: Connection, fence: GroupFence) -> None:
    key = await _fenced_key(connection, fence)
    await connection.execute(_DELETE_OFFSETS_OF_GROUPS, [key])
    await connection.execute("DELETE FROM consumer_groups WHERE group_key = $1", key)


async def expire_groups(
    connection: Connection,
    in_use: Sequence[GroupFence],
    *,
    unused_before_ms: int,
    count_max: int,
    now_ms: int,
) -> list[str]:
    keys = await _fenced_keys(connection, in_use)
    await connection.execute(_TOUCH, now_ms, list(keys.values()))
    locked = [row[0] for row in await connection.fetch(_LOCK_UNUSED, unused_before_ms, count_max)]
    # Offsets may have been committed between the look and the lock; now nobody can.
    unused = await connection.fetch(_DELETE_UNUSED, unused_before_ms, locked)
    await connection.execute(_DELETE_OFFSETS_OF_GROUPS, [group_key for group_key, _ in unused])
    return [group_id.decode() for _, group_id in unused]


async def _fenced_key(connection: Connection, fence: GroupFence) -> int:
    keys = await _fenced_keys(connection, [fence])
    if not keys:
        raise _not_coordinator(fence)
    return keys[0]


async def _fenced_keys(connection: Connection, fences: Sequence[GroupFence]) -> dict[int, int]:
    """By the position of each fence that is valid the key of its group, whose row is then locked."""
    rows = await connection.fetch(
        _FENCED_KEYS,
        [fence.group_id.encode() for fence in fences],
        [fence.incarnation for fence in fences],
        [fence.epoch for fence in fences],
    )
    return {position - 1: group_key for position, group_key in rows}


def _not_coordinator(fence: GroupFence) -> RequestError:
    return RequestError(ErrorCode.NOT_COORDINATOR, f"Group '{fence.group_id}' is another broker's now.")

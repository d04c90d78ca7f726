"""Groups and their committed offsets, inside a transaction; all checks before the first write.

None of it touches a log, so many callers' changes share a transaction (`writer.GroupChange`).
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence

from inkless.coordinator.sqlite.connection import fetch_list
from inkless.coordinator.sqlite.row_writer import RowWriter
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
    INSERT INTO consumer_groups (group_id, broker_id, incarnation, epoch, generation, protocol_type, used_ms)
    VALUES (?, ?, ?, 1, 0, '', ?)
    ON CONFLICT (group_id) DO UPDATE SET
        epoch = epoch + (incarnation <> excluded.incarnation),
        broker_id = excluded.broker_id, incarnation = excluded.incarnation, used_ms = excluded.used_ms
    RETURNING epoch, generation, protocol_type
"""
_FENCED_KEY = "SELECT group_key FROM consumer_groups WHERE group_id = ? AND incarnation = ? AND epoch = ?"
_RECORD_GENERATION = """
    UPDATE consumer_groups SET generation = max(generation, ?), protocol_type = ?, used_ms = ?
    WHERE group_key = ?
"""
# Not a replacement of the row, which would also rewrite its entry in the index by topic.
_PUT_OFFSETS = RowWriter(
    "INSERT INTO group_offsets",
    columns=8,
    after_values="""
        ON CONFLICT DO UPDATE SET
            committed_offset = excluded.committed_offset, leader_epoch = excluded.leader_epoch,
            metadata = excluded.metadata, committed_ms = excluded.committed_ms
    """,
)
_OFFSETS = """
    SELECT json_group_array(json_array(
        shard, hex(topic_id), partition_index, committed_offset, leader_epoch, metadata, committed_ms))
    FROM group_offsets
    WHERE group_key = (SELECT group_key FROM consumer_groups WHERE group_id = ?1)
        AND (?2 IS NULL OR hex(topic_id) IN (SELECT value FROM json_each(?2)))
"""
_DELETE_OFFSET = """
    DELETE FROM group_offsets WHERE group_key = ? AND shard = ? AND topic_id = ? AND partition_index = ?
"""
_GROUPS = """
    SELECT json_group_array(json_array(group_id, broker_id, generation, protocol_type))
    FROM (SELECT * FROM consumer_groups ORDER BY group_id)
    WHERE ?1 IS NULL OR group_id IN (SELECT value FROM json_each(?1))
"""
_TOUCH = """
    UPDATE consumer_groups SET used_ms = ? WHERE group_id = ? AND incarnation = ? AND epoch = ?
"""
_UNUSED = """
    SELECT group_key, group_id FROM consumer_groups AS g
    WHERE used_ms < ?1 AND NOT EXISTS (
        SELECT 1 FROM group_offsets AS o WHERE o.group_key = g.group_key AND o.committed_ms >= ?1)
    LIMIT ?2
"""


def claim_group(
    connection: sqlite3.Connection, group_id: str, *, broker_id: int, incarnation: bytes, now_ms: int
) -> GroupClaim:
    epoch, generation, protocol_type = connection.execute(
        _CLAIM, (group_id, broker_id, incarnation, now_ms)
    ).fetchone()
    return GroupClaim(GroupFence(group_id, incarnation, epoch), generation, protocol_type)


def record_generation(
    connection: sqlite3.Connection, fence: GroupFence, *, generation: int, protocol_type: str, now_ms: int
) -> None:
    key = _fenced_key(connection, fence)
    connection.execute(_RECORD_GENERATION, (generation, protocol_type, now_ms, key))


def commit_offsets(
    connection: sqlite3.Connection,
    fence: GroupFence,
    offsets: Mapping[PartitionId, CommittedOffset],
) -> None:
    key = _fenced_key(connection, fence)
    _PUT_OFFSETS.write(connection, [(key, *partition, *offset) for partition, offset in offsets.items()])


def fetch_offsets(
    connection: sqlite3.Connection, group_id: str, partitions: Sequence[PartitionId] | None
) -> dict[PartitionId, CommittedOffset]:
    topics = None
    if partitions is not None:
        topics = json.dumps(list({partition.topic_id.hex().upper() for partition in partitions}))
    rows = fetch_list(connection, _OFFSETS, (group_id, topics))
    found = {
        PartitionId(shard, TopicId(bytes.fromhex(topic_id)), index): CommittedOffset(*offset)
        for shard, topic_id, index, *offset in rows
    }
    if partitions is None:
        return found
    return {partition: found[partition] for partition in partitions if partition in found}


def delete_offsets(
    connection: sqlite3.Connection, fence: GroupFence, partitions: Sequence[PartitionId]
) -> None:
    key = _fenced_key(connection, fence)
    connection.executemany(_DELETE_OFFSET, [(key, *partition) for partition in partitions])


def delete_offsets_of_topic(connection: sqlite3.Connection, topic_id: TopicId) -> None:
    """Part of the deletion of a topic."""
    connection.execute("DELETE FROM group_offsets WHERE topic_id = ?", (topic_id,))


def load_groups(connection: sqlite3.Connection, group_ids: Sequence[str] | None) -> list[StoredGroup]:
    asked = None if group_ids is None else json.dumps(group_ids)
    return [StoredGroup(*row) for row in fetch_list(connection, _GROUPS, (asked,))]


def delete_group(connection: sqlite3.Connection, fence: GroupFence) -> None:
    _delete(connection, _fenced_key(connection, fence))


def expire_groups(
    connection: sqlite3.Connection,
    in_use: Sequence[GroupFence],
    *,
    unused_before_ms: int,
    count_max: int,
    now_ms: int,
) -> list[str]:
    for fence in in_use:
        connection.execute(_TOUCH, (now_ms, *_identity(fence)))
    unused = connection.execute(_UNUSED, (unused_before_ms, count_max)).fetchall()
    for group_key, _ in unused:
        _delete(connection, group_key)
    return [group_id for _, group_id in unused]


def _fenced_key(connection: sqlite3.Connection, fence: GroupFence) -> int:
    row = connection.execute(_FENCED_KEY, _identity(fence)).fetchone()
    if row is None:
        raise RequestError(ErrorCode.NOT_COORDINATOR, f"Group '{fence.group_id}' is another broker's now.")
    return int(row[0])


def _identity(fence: GroupFence) -> tuple[str, bytes, int]:
    return fence.group_id, fence.incarnation, fence.epoch


def _delete(connection: sqlite3.Connection, group_key: int) -> None:
    connection.execute("DELETE FROM group_offsets WHERE group_key = ?", (group_key,))
    connection.execute("DELETE FROM consumer_groups WHERE group_key = ?", (group_key,))

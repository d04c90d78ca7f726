"""Topics: made, changed and deleted under the lock of the metadata, all checks before the first write."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from inkless.coordinator.metadata_rules import (
    grown_topic,
    made_topic,
    merge_configs,
    name_taken,
    unknown_topic,
)
from inkless.coordinator.postgres.cluster_row import bump_metadata_version
from inkless.coordinator.postgres.connections import Connection
from inkless.coordinator.postgres.groups import delete_offsets_of_topic
from inkless.coordinator.types import NO_TIMESTAMP, NewTopic, Topic, TopicId

_TOPICS = "SELECT topic_id, name, shard, replicas, configs FROM topics ORDER BY name"
_TOPIC = "SELECT topic_id, name, shard, replicas, configs FROM topics WHERE topic_id = $1"
_INSERT_PARTITIONS = """
    WITH new_partitions AS (
        INSERT INTO partitions (shard, topic_id, partition_index)
        SELECT $1, $2, generate_series($3::integer, $4::integer - 1) RETURNING partition_key)
    INSERT INTO logs SELECT partition_key, 0, 0, 0, $5 FROM new_partitions
"""
# All runs and producers of the partitions are left to be forgotten.
_DELETE_PARTITIONS = """
    WITH gone AS (
        DELETE FROM partitions WHERE shard = $1 AND topic_id = $2 RETURNING partition_key
    ), noted AS (
        INSERT INTO pending_trims AS t SELECT partition_key, 9223372036854775807, TRUE FROM gone
        ON CONFLICT (partition_key) DO UPDATE SET before_offset = excluded.before_offset, whole_log = TRUE
    )
    DELETE FROM logs WHERE partition_key IN (SELECT partition_key FROM gone)
"""


async def load_topics(connection: Connection) -> list[Topic]:
    return [_topic(row) for row in await connection.fetch(_TOPICS)]


async def create_topic(connection: Connection, new: NewTopic, *, shard: int) -> Topic:
    if (existing := await _find_topic(connection, new.topic_id)) is not None:
        return existing
    if await connection.fetchval("SELECT 1 FROM topics WHERE name = $1", new.name):
        raise name_taken(new.name)
    topic = made_topic(new, shard=shard)
    await connection.execute(
        "INSERT INTO topics VALUES ($1, $2, $3, $4, $5)",
        topic.topic_id,
        topic.name,
        shard,
        json.dumps(topic.replicas),
        json.dumps(topic.configs),
    )
    await _insert_partitions(connection, topic, first=0)
    await bump_metadata_version(connection)
    return topic


async def delete_topic(connection: Connection, topic_id: TopicId) -> None:
    """Needs the lock of the logs too."""
    topic = await _existing_topic(connection, topic_id)
    await connection.execute(_DELETE_PARTITIONS, topic.shard, topic_id)
    await connection.execute("DELETE FROM topics WHERE topic_id = $1", topic_id)
    await bump_metadata_version(connection)
    await delete_offsets_of_topic(connection, topic_id)


async def add_partitions(
    connection: Connection,
    topic_id: TopicId,
    *,
    partitions_before: int,
    replicas: Sequence[Sequence[int]],
) -> Topic:
    before = await _existing_topic(connection, topic_id)
    topic = grown_topic(before, partitions_before=partitions_before, replicas=replicas)
    if topic is before:
        return topic
    await connection.execute(
        "UPDATE topics SET replicas = $1 WHERE topic_id = $2", json.dumps(topic.replicas), topic_id
    )
    await _insert_partitions(connection, topic, first=partitions_before)
    await bump_metadata_version(connection)
    return topic


async def alter_topic_configs(
    connection: Connection, topic_id: TopicId, configs: Mapping[str, str | None]
) -> Topic:
    topic = await _existing_topic(connection, topic_id)
    merged = merge_configs(topic.configs, configs)
    if merged == topic.configs:
        return topic
    await connection.execute(
        "UPDATE topics SET configs = $1 WHERE topic_id = $2", json.dumps(merged), topic_id
    )
    await bump_metadata_version(connection)
    return Topic(topic_id, topic.name, topic.shard, topic.replicas, merged)


async def _insert_partitions(connection: Connection, topic: Topic, *, first: int) -> None:
    await connection.execute(
        _INSERT_PARTITIONS, topic.shard, topic.topic_id, first, topic.partition_count, NO_TIMESTAMP
    )


async def _existing_topic(connection: Connection, topic_id: TopicId) -> Topic:
    if (topic := await _find_topic(connection, topic_id)) is None:
        raise unknown_topic(topic_id)
    return topic


async def _find_topic(connection: Connection, topic_id: TopicId) -> Topic | None:
    row = await connection.fetchrow(_TOPIC, topic_id)
    return None if row is None else _topic(row)


def _topic(columns: Any) -> Topic:
    topic_id, name, shard, replicas, configs = columns
    return Topic(TopicId(topic_id), name, shard, json.loads(replicas), json.loads(configs))

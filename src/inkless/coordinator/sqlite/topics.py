"""Topics: made, changed and deleted inside a write transaction, all checks before the first write."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from inkless.coordinator.metadata_rules import (
    grown_topic,
    made_topic,
    merge_configs,
    name_taken,
    unknown_topic,
)
from inkless.coordinator.sqlite.cluster_row import bump_metadata_version
from inkless.coordinator.sqlite.connection import fetch_list
from inkless.coordinator.sqlite.groups import delete_offsets_of_topic
from inkless.coordinator.sqlite.trim import note_whole_logs
from inkless.coordinator.types import NO_TIMESTAMP, NewTopic, Topic, TopicId

_TOPICS = """
    SELECT json_group_array(json_array(hex(topic_id), name, shard, json(replicas), json(configs)))
    FROM (SELECT * FROM topics ORDER BY name)
"""
_TOPIC = "SELECT hex(topic_id), name, shard, replicas, configs FROM topics WHERE topic_id = ?"
_INSERT_TOPIC = "INSERT INTO topics VALUES (?, ?, ?, ?, ?)"
_INSERT_PARTITION = """
    INSERT INTO partitions (shard, topic_id, partition_index) VALUES (?, ?, ?) RETURNING partition_key
"""
_PARTITIONS_OF_TOPIC = "SELECT partition_key FROM partitions WHERE shard = ? AND topic_id = ?"


def load_topics(connection: sqlite3.Connection) -> list[Topic]:
    return [_topic(row) for row in fetch_list(connection, _TOPICS)]


def create_topic(connection: sqlite3.Connection, new: NewTopic, *, shard: int) -> Topic:
    if (existing := _find_topic(connection, new.topic_id)) is not None:
        return existing
    if connection.execute("SELECT 1 FROM topics WHERE name = ?", (new.name,)).fetchone():
        raise name_taken(new.name)
    topic = made_topic(new, shard=shard)
    connection.execute(
        _INSERT_TOPIC,
        (topic.topic_id, topic.name, shard, json.dumps(topic.replicas), json.dumps(topic.configs)),
    )
    _insert_partitions(connection, topic, range(topic.partition_count))
    bump_metadata_version(connection)
    return topic


def delete_topic(connection: sqlite3.Connection, topic_id: TopicId) -> None:
    topic = _existing_topic(connection, topic_id)
    keys = [row[0] for row in connection.execute(_PARTITIONS_OF_TOPIC, (topic.shard, topic_id)).fetchall()]
    note_whole_logs(connection, keys)
    connection.executemany("DELETE FROM logs WHERE partition_key = ?", [(key,) for key in keys])
    connection.execute("DELETE FROM partitions WHERE shard = ? AND topic_id = ?", (topic.shard, topic_id))
    connection.execute("DELETE FROM topics WHERE topic_id = ?", (topic_id,))
    delete_offsets_of_topic(connection, topic_id)
    bump_metadata_version(connection)


def add_partitions(
    connection: sqlite3.Connection,
    topic_id: TopicId,
    *,
    partitions_before: int,
    replicas: Sequence[Sequence[int]],
) -> Topic:
    before = _existing_topic(connection, topic_id)
    topic = grown_topic(before, partitions_before=partitions_before, replicas=replicas)
    if topic is before:
        return topic
    connection.execute(
        "UPDATE topics SET replicas = ? WHERE topic_id = ?", (json.dumps(topic.replicas), topic_id)
    )
    _insert_partitions(connection, topic, range(partitions_before, topic.partition_count))
    bump_metadata_version(connection)
    return topic


def alter_topic_configs(
    connection: sqlite3.Connection, topic_id: TopicId, configs: Mapping[str, str | None]
) -> Topic:
    topic = _existing_topic(connection, topic_id)
    merged = merge_configs(topic.configs, configs)
    if merged == topic.configs:
        return topic
    connection.execute("UPDATE topics SET configs = ? WHERE topic_id = ?", (json.dumps(merged), topic_id))
    bump_metadata_version(connection)
    return Topic(topic_id, topic.name, topic.shard, topic.replicas, merged)


def _insert_partitions(connection: sqlite3.Connection, topic: Topic, indexes: Sequence[int]) -> None:
    for index in indexes:
        (key,) = connection.execute(_INSERT_PARTITION, (topic.shard, topic.topic_id, index)).fetchone()
        connection.execute("INSERT INTO logs VALUES (?, 0, 0, 0, ?)", (key, NO_TIMESTAMP))


def _existing_topic(connection: sqlite3.Connection, topic_id: TopicId) -> Topic:
    if (topic := _find_topic(connection, topic_id)) is None:
        raise unknown_topic(topic_id)
    return topic


def _find_topic(connection: sqlite3.Connection, topic_id: TopicId) -> Topic | None:
    row = connection.execute(_TOPIC, (topic_id,)).fetchone()
    return None if row is None else _topic((*row[:3], json.loads(row[3]), json.loads(row[4])))


def _topic(columns: Sequence[Any]) -> Topic:
    topic_id, name, shard, replicas, configs = columns
    return Topic(TopicId(bytes.fromhex(topic_id)), name, shard, replicas, configs)

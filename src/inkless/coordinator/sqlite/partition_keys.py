"""The small numbers that partitions have in the large tables."""

import sqlite3
from collections.abc import Iterable

from inkless.coordinator.sqlite.connection import fetch_list
from inkless.coordinator.types import PartitionId, TopicId

_PARTITIONS_OF_TOPIC = """
    SELECT json_group_array(json_array(partition_index, partition_key))
    FROM partitions WHERE shard = ? AND topic_id = ?
"""


class PartitionKeys:
    """Remembers numbers for good: one is never given to another partition, and that of a deleted partition
    leads to no log any more."""

    def __init__(self, connection: sqlite3.Connection, *, entries_max: int) -> None:
        self._connection = connection
        self._entries_max = entries_max
        self._keys: dict[PartitionId, int] = {}

    def find(self, partitions: Iterable[PartitionId]) -> dict[PartitionId, int]:
        """The numbers of those partitions that exist or existed."""
        keys = self._keys
        missing = {partition[:2] for partition in partitions if partition not in keys}
        if missing:
            self._load(missing)
        return {partition: keys[partition] for partition in partitions if partition in keys}

    def _load(self, topics: Iterable[tuple[int, TopicId]]) -> None:
        if len(self._keys) > self._entries_max:
            self._keys.clear()
        for shard, topic_id in topics:
            for index, key in fetch_list(self._connection, _PARTITIONS_OF_TOPIC, (shard, topic_id)):
                self._keys[PartitionId(shard, topic_id, index)] = key

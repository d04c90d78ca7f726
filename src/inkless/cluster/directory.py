"""The topics, in memory: what every request looks at first."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from inkless.coordinator.contract import ClusterMetadata
from inkless.coordinator.types import PartitionId, Topic, TopicId
from inkless.records.validate import BatchRules
from inkless.settings.topics import TopicConfigs, TopicDefaults

_RELOADS_MAX = 10


@dataclass(frozen=True, slots=True)
class TopicEntry:
    """A topic with everything that the hot paths would otherwise work out again and again."""

    topic: Topic
    configs: TopicConfigs
    rules: BatchRules
    partitions: tuple[PartitionId, ...]

    def partition(self, index: int) -> PartitionId | None:
        return self.partitions[index] if 0 <= index < len(self.partitions) else None


class TopicDirectory:
    """All topics by name and by id, as of the last refresh.

    Changes made through this broker are seen at once; those of others after `refresh`, which asks for the
    metadata version first and costs next to nothing when nothing has changed.
    """

    def __init__(self, metadata: ClusterMetadata, defaults: TopicDefaults) -> None:
        self._metadata = metadata
        self._defaults = defaults
        self._by_name: dict[str, TopicEntry] = {}
        self._by_id: dict[bytes, TopicEntry] = {}
        self._version = -1
        self._changes = 0
        self._refreshing = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._by_name)

    def by_name(self, name: str) -> TopicEntry | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: bytes) -> TopicEntry | None:
        return self._by_id.get(topic_id)

    def all(self) -> Iterable[TopicEntry]:
        """By name."""
        return [self._by_name[name] for name in sorted(self._by_name)]

    async def refresh(self) -> bool:
        """True when something had changed. Raises Unavailable."""
        async with self._refreshing:
            for _ in range(_RELOADS_MAX):
                version = await self._metadata.metadata_version()
                if version == self._version:
                    return False
                changes = self._changes
                topics = await self._metadata.load_topics()
                # A change made through this broker meanwhile may be missing from what was loaded.
                if changes == self._changes:
                    self._replace(topics)
                    self._version = version
                    return True
            return False

    def put(self, topic: Topic) -> TopicEntry:
        self._changes += 1
        entry = self._entry(topic)
        self._by_name[topic.name] = entry
        self._by_id[topic.topic_id] = entry
        return entry

    def _replace(self, topics: Iterable[Topic]) -> None:
        entries = [self._entry(topic) for topic in topics]
        self._by_name = {entry.topic.name: entry for entry in entries}
        self._by_id = {entry.topic.topic_id: entry for entry in entries}

    def remove(self, topic_id: TopicId) -> None:
        self._changes += 1
        entry = self._by_id.pop(topic_id, None)
        if entry is not None and self._by_name.get(entry.topic.name) is entry:
            del self._by_name[entry.topic.name]

    def _entry(self, topic: Topic) -> TopicEntry:
        configs = self._defaults.effective(topic.configs)
        return TopicEntry(
            topic=topic,
            configs=configs,
            rules=BatchRules(
                max_message_bytes=configs.max_message_bytes,
                timestamp_before_max_ms=configs.timestamp_before_max_ms,
                timestamp_after_max_ms=configs.timestamp_after_max_ms,
                log_append_time=configs.log_append_time,
            ),
            partitions=tuple(
                PartitionId(topic.shard, topic.topic_id, index) for index in range(topic.partition_count)
            ),
        )

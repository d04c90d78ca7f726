"""A cluster to keep house in: a real control plane in a file, objects in memory, and a clock to turn."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from inkless.clock import SystemEntropy
from inkless.cluster.directory import TopicDirectory
from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.open import open_control_plane
from inkless.coordinator.types import BatchFacts, FindRequest, ObjectCommit, ObjectId, PartitionId, RunCommit
from inkless.errors import Unavailable
from inkless.housekeeping.counters import HousekeepingCounters
from inkless.housekeeping.garbage import GarbageChore
from inkless.housekeeping.orphans import OrphanChore
from inkless.housekeeping.retention import RetentionChore
from inkless.settings import HousekeepingSettings, TopicDefaults
from inkless.storage.contract import ObjectMeta
from inkless.storage.keys import wal_key
from inkless.storage.memory import MemoryStore
from support.coordinator_commits import HandClock, new_topic

BATCH_BYTES = 10
PREFIXES = 256


class RefusingStore(MemoryStore):
    """Fails as told to: a deletion after so many of its objects, a listing after so many of its pages."""

    def __init__(self, clock: HandClock) -> None:
        super().__init__(clock)
        self.deletes_before_failure: int | None = None
        self.pages_before_failure: int | None = None
        self.undeletable: set[str] = set()
        self.delete_sizes: list[int] = []

    async def delete(self, keys: Sequence[str]) -> None:
        self.delete_sizes.append(len(keys))
        for position, key in enumerate(keys):
            if position == self.deletes_before_failure or key in self.undeletable:
                raise Unavailable("a fault: delete")
            await super().delete([key])

    async def list(self, prefix: str) -> AsyncIterator[list[ObjectMeta]]:
        position = 0
        async for page in super().list(prefix):
            if position == self.pages_before_failure:
                raise Unavailable("a fault: list")
            position += 1
            yield page
        if position == self.pages_before_failure:
            raise Unavailable("a fault: list")

    @property
    def keys(self) -> set[str]:
        return set(self._objects)


@dataclass(frozen=True, slots=True)
class House:
    clock: HandClock
    plane: ControlPlane
    store: RefusingStore
    directory: TopicDirectory
    counters: HousekeepingCounters
    settings: HousekeepingSettings

    def retention(self) -> RetentionChore:
        return RetentionChore(
            self.settings,
            control_plane=self.plane,
            directory=self.directory,
            clock=self.clock,
            counters=self.counters,
        )

    def garbage(self) -> GarbageChore:
        return GarbageChore(
            self.settings,
            control_plane=self.plane,
            store=self.store,
            clock=self.clock,
            counters=self.counters,
        )

    def orphans(self) -> OrphanChore:
        return OrphanChore(
            self.settings,
            control_plane=self.plane,
            store=self.store,
            clock=self.clock,
            entropy=SystemEntropy(),
            counters=self.counters,
        )

    async def topic(self, name: str, partitions: int = 1, **configs: str) -> list[PartitionId]:
        """Underscores in config names stand for dots."""
        named = {key.replace("_", "."): text for key, text in configs.items()}
        topic = await self.plane.create_topic(new_topic(name, partitions, named))
        return [PartitionId(topic.shard, topic.topic_id, index) for index in range(partitions)]

    async def upload(self, object_id: ObjectId, byte_length: int = BATCH_BYTES) -> str:
        key = wal_key(object_id)
        await self.store.put(key, [bytes(byte_length)])
        return key

    async def write(self, *partitions: PartitionId, object_id: ObjectId | None = None) -> str:
        """One object with one batch of one record, as old as the clock says, for each partition; its key."""
        commit = a_commit(self.clock.ms, partitions, object_id)
        await self.upload(commit.object_id, commit.byte_length)
        await self.plane.commit_objects([commit])
        return commit.key

    async def log_start(self, partition: PartitionId) -> int:
        (bounds,) = await self.plane.offset_bounds([partition])
        return bounds.log_start_offset

    async def referenced(self, partitions: Sequence[PartitionId]) -> set[str]:
        """The keys of all objects that a reader can be sent to."""
        keys: set[str] = set()
        for bounds in await self.plane.offset_bounds(partitions):
            (found,) = await self.plane.find_batches(
                [FindRequest(bounds.partition, bounds.log_start_offset, 1 << 30)], bytes_max=1 << 30
            )
            ends = [bounds.log_start_offset, *(each.end_offset for each in found.coordinates)]
            assert ends[-1] == bounds.high_watermark
            keys |= {each.key for each in found.coordinates}
        return keys


def a_commit(
    timestamp_ms: int, partitions: Sequence[PartitionId], object_id: ObjectId | None = None
) -> ObjectCommit:
    object_id = object_id or ObjectId(SystemEntropy().new_id())
    runs = [
        RunCommit(partition, position * BATCH_BYTES, [BatchFacts(BATCH_BYTES, 1, timestamp_ms)])
        for position, partition in enumerate(partitions)
    ]
    return ObjectCommit(object_id, wal_key(object_id), BATCH_BYTES * len(runs), 1, runs)


@asynccontextmanager
async def a_house(
    folder: Path, settings: HousekeepingSettings, *, defaults: Mapping[str, object] | None = None
) -> AsyncIterator[House]:
    clock = HandClock()
    plane = await open_control_plane(
        f"sqlite://{folder}/control-plane.db", clock=clock, entropy=SystemEntropy()
    )
    directory = TopicDirectory(plane, TopicDefaults(defaults or {}))
    try:
        yield House(clock, plane, RefusingStore(clock), directory, HousekeepingCounters(), settings)
    finally:
        await plane.close()

"""Building commits for tests of the coordinator, in few words."""

import itertools
from collections.abc import Mapping, Sequence

from inkless.coordinator.types import (
    BatchFacts,
    NewTopic,
    ObjectCommit,
    ObjectId,
    PartitionId,
    RunCommit,
    TopicId,
)

_numbers = itertools.count(1)


class HandClock:
    """A clock that stands until it is turned."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.ms = now_ms

    def now_ms(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return self.ms / 1000

    async def sleep(self, seconds: float) -> None:
        self.ms += int(seconds * 1000)


def new_object_id() -> ObjectId:
    return ObjectId(next(_numbers).to_bytes(16, "big"))


def new_topic_id() -> TopicId:
    return TopicId(next(_numbers).to_bytes(16, "big"))


def new_topic(name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> NewTopic:
    return NewTopic(new_topic_id(), name, [[1]] * partitions, configs or {})


def plain(record_count: int = 1, byte_length: int = 100, max_timestamp_ms: int = 1_000) -> BatchFacts:
    return BatchFacts(byte_length, record_count, max_timestamp_ms)


def sequenced(
    base_sequence: int, record_count: int = 1, *, producer_id: int = 7, epoch: int = 0, byte_length: int = 100
) -> BatchFacts:
    return BatchFacts(byte_length, record_count, 1_000, producer_id, epoch, base_sequence)


def object_of(
    runs: Mapping[PartitionId, Sequence[BatchFacts]], object_id: ObjectId | None = None
) -> ObjectCommit:
    """An object whose runs lie one behind the other."""
    object_id = object_id or new_object_id()
    commits = []
    byte_start = 0
    for partition, batches in runs.items():
        commits.append(RunCommit(partition, byte_start, batches))
        byte_start += sum(batch.byte_length for batch in batches)
    return ObjectCommit(object_id, f"objects/{object_id.hex()}", byte_start, 1, commits)

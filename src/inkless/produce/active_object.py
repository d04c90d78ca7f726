"""The object that is being filled: appends by partition, each partition in order of arrival."""

from inkless.coordinator.types import PartitionId
from inkless.produce.append import Append


class ActiveObject:
    """Collects appends until it is rotated out. Times are monotonic seconds."""

    __slots__ = ("appends", "batch_count", "byte_length", "first_append_at", "last_append_at")

    def __init__(self) -> None:
        self.appends: dict[PartitionId, list[Append]] = {}
        self.byte_length = 0
        self.batch_count = 0
        self.first_append_at = 0.0
        self.last_append_at = 0.0

    def __bool__(self) -> bool:
        return self.batch_count > 0

    def add(self, append: Append, now: float) -> None:
        if not self.batch_count:
            self.first_append_at = now
        self.last_append_at = now
        self.byte_length += len(append.content)
        self.batch_count += len(append.facts)
        appends = self.appends.get(append.partition)
        if appends is None:
            self.appends[append.partition] = [append]
        else:
            appends.append(append)

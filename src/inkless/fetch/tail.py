"""What this broker has just committed: into the cache at once, and its waiting readers woken."""

from collections.abc import Sequence

from inkless.coordinator.types import ObjectCommit, RunResult
from inkless.fetch.cache import ObjectCache
from inkless.fetch.parking import ParkingLot
from inkless.fetch.stamping import stamp_committed


class Tail:
    """The link from the produce path to the fetch path of the same process."""

    def __init__(self, cache: ObjectCache, parking: ParkingLot) -> None:
        self._cache = cache
        self._parking = parking

    def object_committed(
        self, commit: ObjectCommit, content: memoryview, results: Sequence[RunResult]
    ) -> None:
        self._cache.put_written(commit.key, stamp_committed(content, commit.runs, results))
        self._parking.wake(run.partition for run in commit.runs)

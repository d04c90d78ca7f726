"""Looks for the commits of other brokers, on behalf of all fetches that are parked here."""

import logging

from inkless.clock import Clock, TaskOwner
from inkless.coordinator.contract import BatchCoordinator
from inkless.coordinator.types import OffsetBounds, PartitionId
from inkless.errors import Unavailable
from inkless.fetch.parking import ParkingLot

log = logging.getLogger(__name__)

_PARTITIONS_AT_ONCE_MAX = 1000
"""So that other questions to the coordinator do not wait long behind one of ours."""


class CommitWatch:
    """Asks for the bounds of all partitions that are waited for, and wakes who waits where they have moved.

    One look for all is what makes waiting cheap: its cost grows with the partitions, and not with those who
    wait. Nothing is missed: a fetch parks before it finds, so whatever is committed after its find moves
    bounds away from those of the last look, or is in the first look at its partition, which always wakes.
    """

    def __init__(
        self, coordinator: BatchCoordinator, parking: ParkingLot, *, interval_ms: int, clock: Clock
    ) -> None:
        self._coordinator = coordinator
        self._parking = parking
        self._interval_s = interval_ms / 1000
        self._clock = clock
        self._seen: dict[PartitionId, OffsetBounds] = {}
        self._tasks = TaskOwner("commit watch", tasks_max=1)

    def start(self) -> None:
        self._tasks.spawn(self._keep_looking())

    async def close(self) -> None:
        await self._tasks.close()

    async def look(self) -> None:
        """Raises Unavailable."""
        parked = self._parking.partitions
        seen: dict[PartitionId, OffsetBounds] = {}
        for start in range(0, len(parked), _PARTITIONS_AT_ONCE_MAX):
            some = parked[start : start + _PARTITIONS_AT_ONCE_MAX]
            bounds = await self._coordinator.offset_bounds(some)
            seen.update(zip(some, bounds, strict=True))
        before, self._seen = self._seen, seen
        self._parking.wake([partition for partition, now in seen.items() if before.get(partition) != now])

    async def _keep_looking(self) -> None:
        while True:
            await self._clock.sleep(self._interval_s)
            try:
                await self.look()
            except Unavailable as error:
                log.warning("commits of other brokers not seen, trying again", extra={"error": str(error)})

"""Where fetches wait that have nothing to return yet."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Self

from inkless.coordinator.types import PartitionId

_Parked = dict[PartitionId, dict[asyncio.Future[None], None]]
"""The inner ones are sets that keep the order of arrival."""


class ParkingLot:
    """Futures by partition. A parked fetch is woken by the first commit to any of its partitions, those that
    have waited longest first."""

    def __init__(self) -> None:
        self._parked: _Parked = {}
        self.closed = False

    def __len__(self) -> int:
        return len({future for waiting in self._parked.values() for future in waiting})

    @property
    def partitions(self) -> list[PartitionId]:
        """Those that somebody waits for."""
        return list(self._parked)

    def wake(self, partitions: Iterable[PartitionId]) -> None:
        for partition in partitions:
            for future in self._parked.get(partition, ()):
                if not future.done():
                    future.set_result(None)

    def hear_of(self, partitions: Sequence[PartitionId] | None) -> None:
        """Another process has committed to these; None means that it may have been anything."""
        self.wake(self.partitions if partitions is None else partitions)

    def close(self) -> None:
        """Wakes everybody, and lets nobody wait any more: the broker is stopping."""
        self.closed = True
        self.wake(list(self._parked))

    def park(self, partitions: Iterable[PartitionId]) -> "Place":
        """Registers at once, so that a commit between now and the wait is not missed."""
        return Place(self._parked, list(partitions))


class Place:
    """A fetch's place in the lot; leave it in any case, by `with`."""

    def __init__(self, parked: _Parked, partitions: list[PartitionId]) -> None:
        self._parked = parked
        self._partitions = partitions
        self._woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for partition in partitions:
            parked.setdefault(partition, {})[self._woken] = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for partition in self._partitions:
            waiting = self._parked[partition]
            waiting.pop(self._woken, None)
            if not waiting:
                del self._parked[partition]

    async def wait(self, timeout_s: float) -> bool:
        """True when woken, False when the time is over."""
        await asyncio.wait([self._woken], timeout=max(0.0, timeout_s))
        return self._woken.done()

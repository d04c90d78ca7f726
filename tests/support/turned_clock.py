"""A clock that stands until it is turned, and wakes those who sleep by it."""

import asyncio
import heapq
import itertools


class TurnedClock:
    """Sleepers wake in the order of their times, each at its own time."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = float(now_ms)
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    def now_ms(self) -> int:
        return int(self._now_ms)

    def monotonic(self) -> float:
        return self._now_ms / 1000

    async def sleep(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now_ms + seconds * 1000, next(self._numbers), future))
        await future

    def jump_to(self, now_ms: int) -> None:
        """Another time, without the time between: sleepers go on sleeping until the clock is turned."""
        self._now_ms = float(now_ms)

    async def turn(self, duration_ms: float) -> None:
        end_ms = self._now_ms + duration_ms
        await _settle()
        while self._sleepers and self._sleepers[0][0] <= end_ms:
            at_ms, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                self._now_ms = max(self._now_ms, at_ms)
                future.set_result(None)
                await _settle()
        self._now_ms = end_ms
        await _settle()


async def _settle() -> None:
    """Lets everybody run who can; none of them has more than a few steps to go."""
    for _ in range(10):
        await asyncio.sleep(0)

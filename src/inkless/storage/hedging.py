"""Reads that do not wait for the slowest machine of the store: after a while the same is asked once more.

Only reads are hedged; they can be repeated without a trace. Hedges are rationed as a share of all reads,
since a store that is slow for everybody gets slower from twice the load.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final, TypeVar

from inkless.clock import Clock, TaskOwner
from inkless.errors import Unavailable
from inkless.storage.contract import Buffer, ObjectMeta, ObjectStore
from inkless.storage.meter import StoreMeter

T = TypeVar("T")

HEDGES_PER_READ_MAX: Final = 0.1
HEDGES_BURST_MAX: Final = 10


class HedgedStore:
    """Asks a second time when `hedge_after_ms` have passed; the first answer wins, the other is cancelled.

    `Unavailable` from one is no answer while the other is still open; any other error is.
    """

    def __init__(self, store: ObjectStore, clock: Clock, meter: StoreMeter, *, hedge_after_ms: int) -> None:
        self._store = store
        self._clock = clock
        self._meter = meter
        self._hedge_after_s = hedge_after_ms / 1000
        self._tasks = TaskOwner("hedged reads")
        self._credit = float(HEDGES_BURST_MAX)

    async def put(self, key: str, parts: Sequence[Buffer]) -> None:
        await self._store.put(key, parts)

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> memoryview:
        return await self._hedged(lambda: self._store.get(key, start=start, end=end))

    async def get_into(self, key: str, start: int, target: memoryview) -> None:
        # The loser must never write to the target, so both read into buffers of their own.
        target[:] = await self.get(key, start=start, end=start + len(target))

    async def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        return await self._hedged(lambda: self._store.get_ranges(key, ranges))

    async def delete(self, keys: Sequence[str]) -> None:
        await self._store.delete(keys)

    def list(self, prefix: str) -> AsyncIterator[list[ObjectMeta]]:
        return self._store.list(prefix)

    async def close(self) -> None:
        await self._tasks.close()
        await self._store.close()

    async def _hedged(self, ask: Callable[[], Awaitable[T]]) -> T:
        self._credit = min(self._credit + HEDGES_PER_READ_MAX, HEDGES_BURST_MAX)
        first: asyncio.Task[T | Exception] = self._tasks.spawn(_outcome(ask))
        patience: asyncio.Task[None] = self._tasks.spawn(self._clock.sleep(self._hedge_after_s))
        racers: list[asyncio.Task[T | Exception] | asyncio.Task[None]] = [first, patience]
        try:
            await asyncio.wait(racers, return_when=asyncio.FIRST_COMPLETED)
            if first.done() or self._credit < 1:
                return _answer(await first)
            self._credit -= 1
            self._meter.hedge_count += 1
            second: asyncio.Task[T | Exception] = self._tasks.spawn(_outcome(ask))
            racers.append(second)
            return await self._race(first, second)
        finally:
            for task in racers:
                task.cancel()

    async def _race(self, first: asyncio.Task[T | Exception], second: asyncio.Task[T | Exception]) -> T:
        done, _ = await asyncio.wait((first, second), return_when=asyncio.FIRST_COMPLETED)
        winner, loser = (first, second) if first in done else (second, first)
        if isinstance(winner.result(), Unavailable):
            winner = loser
        answer = _answer(await winner)
        if winner is second:
            self._meter.hedge_win_count += 1
        return answer


async def _outcome(ask: Callable[[], Awaitable[T]]) -> T | Exception:
    """An error as a value: a loser's is nobody's business, and must not be reported as a task's failure."""
    try:
        return await ask()
    except Exception as error:  # noqa: BLE001 - raised again by whoever takes this outcome
        return error


def _answer(outcome: T | Exception) -> T:
    if isinstance(outcome, Exception):
        raise outcome
    return outcome

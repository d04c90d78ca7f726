"""Objects in memory: what this broker wrote, and what it read in.

Two byte-weighted CLOCK pools, so that a consumer who reads through the past cannot push out the tail that
others are reading. Each has a share that is its own; beyond that a pool may use what the other does not need:
the written pool what is free, the read pool also the place of what was written and never asked for. Loads of
one object are shared by all who ask for it meanwhile.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from inkless.buffers import capacity_of
from inkless.coordinator.types import Coordinates


@dataclass(slots=True, eq=False)
class CachedObject:
    """An object's bytes from `byte_start` on, writable; all of them, or those of a large run.

    `stamped_runs` are the starts of the runs that carry their offsets.
    """

    content: memoryview
    byte_start: int = 0
    stamped_runs: set[int] = field(default_factory=set)
    referenced: bool = False

    def view(self, where: Coordinates) -> memoryview:
        return self.content[where.byte_start - self.byte_start : where.byte_end - self.byte_start]


class _ClockPool:
    """Second chance in order of arrival. `bytes_used` counts the capacity of the buffers."""

    __slots__ = ("bytes_used", "entries", "share_bytes")

    def __init__(self, share_bytes: int) -> None:
        self.share_bytes = share_bytes
        self.bytes_used = 0
        self.entries: dict[str, CachedObject] = {}

    @property
    def exceeds_share(self) -> bool:
        return self.bytes_used > self.share_bytes

    @property
    def oldest_is_unused(self) -> bool:
        return bool(self.entries) and not next(iter(self.entries.values())).referenced

    def add(self, key: str, entry: CachedObject) -> None:
        self.entries[key] = entry
        self.bytes_used += capacity_of(entry.content)

    def remove(self, key: str) -> None:
        entry = self.entries.pop(key, None)
        if entry is not None:
            self.bytes_used -= capacity_of(entry.content)

    def evict_one(self) -> None:
        while True:
            key = next(iter(self.entries))
            entry = self.entries.pop(key)
            if not entry.referenced:
                self.bytes_used -= capacity_of(entry.content)
                return
            entry.referenced = False
            self.entries[key] = entry


@dataclass(slots=True)
class CacheCounters:
    """Totals since the start, read by the metrics."""

    hits: int = 0
    misses: int = 0
    shared_loads: int = 0


class ObjectCache:
    """Objects by key; never holds more than `bytes_max` bytes of buffers."""

    def __init__(self, *, bytes_max: int, written_share: float) -> None:
        self._bytes_max = bytes_max
        self._written = _ClockPool(int(bytes_max * written_share))
        self._read = _ClockPool(bytes_max - int(bytes_max * written_share))
        self._loads: dict[str, asyncio.Future[CachedObject]] = {}
        self.counters = CacheCounters()

    @property
    def bytes_used(self) -> int:
        return self._written.bytes_used + self._read.bytes_used

    def __contains__(self, key: str) -> bool:
        """Without counting as a use."""
        return key in self._written.entries or key in self._read.entries

    def get(self, key: str) -> CachedObject | None:
        entry = self._written.entries.get(key) or self._read.entries.get(key)
        if entry is None:
            self.counters.misses += 1
            return None
        entry.referenced = True
        self.counters.hits += 1
        return entry

    def put_written(self, key: str, entry: CachedObject) -> None:
        self._put(self._written, key, entry)

    def forget(self, key: str) -> None:
        """Makes the next one who asks read the object in again."""
        self._written.remove(key)
        self._read.remove(key)

    async def load(self, key: str, read: Callable[[], Awaitable[CachedObject]]) -> CachedObject:
        """Reads an object in, once for all who ask while it is under way. A failure reaches all of them and
        is not remembered; the one who reads may be cancelled without harm to the others."""
        under_way = self._loads.get(key)
        if under_way is not None:
            self.counters.shared_loads += 1
            return await asyncio.shield(under_way)
        future: asyncio.Future[CachedObject] = asyncio.get_running_loop().create_future()
        self._loads[key] = future
        try:
            entry = await read()
        except BaseException as error:
            # When this one was cancelled, the others get an error that makes their clients ask again.
            future.set_exception(error if isinstance(error, Exception) else ConnectionAbortedError(key))
            future.exception()
            raise
        else:
            self._put(self._read, key, entry)
            future.set_result(entry)
            return entry
        finally:
            del self._loads[key]

    def _put(self, pool: _ClockPool, key: str, entry: CachedObject) -> None:
        if key in self or capacity_of(entry.content) > pool.share_bytes:
            return
        pool.add(key, entry)
        while self.bytes_used > self._bytes_max:
            self._pool_to_shrink(pool).evict_one()

    def _pool_to_shrink(self, growing: _ClockPool) -> _ClockPool:
        if growing is self._written:
            return self._read if self._read.exceeds_share else self._written
        if self._written.exceeds_share or self._written.oldest_is_unused:
            return self._written
        return self._read

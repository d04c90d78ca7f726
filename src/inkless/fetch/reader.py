"""Bytes for coordinates: from the cache, from a whole object read in, or from ranges of an old one."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from inkless.buffers import BufferPool
from inkless.clock import Clock
from inkless.coordinator.types import Coordinates
from inkless.errors import CorruptData, Unavailable
from inkless.fetch.cache import CachedObject, ObjectCache
from inkless.fetch.room import ReadRoom
from inkless.fetch.stamping import stamp_run
from inkless.settings import FetchSettings
from inkless.storage.contract import ObjectMissing, ObjectStore

log = logging.getLogger(__name__)

_WHOLE_OBJECT_BYTES_MAX = 32 * 1024 * 1024
_BYTES_BEYOND_CACHE_MAX = 192 * 1024 * 1024


@dataclass(slots=True)
class ReaderCounters:
    """Totals since the start, read by the metrics."""

    hot_reads: int = 0
    cold_reads: int = 0
    read_bytes: int = 0
    corrupt_runs: int = 0
    missing_objects: int = 0


class RunReader:
    """Reads runs; `Unavailable` where storage does not answer, `CorruptData` where it answers wrong.

    Young objects are read whole, once, since their other partitions are about to be asked for too. Old ones
    are read by range, under a limit of their own and past the cache, so that a backfill takes neither the
    connections nor the memory of those who read at the tail.
    """

    def __init__(
        self,
        settings: FetchSettings,
        *,
        store: ObjectStore,
        cache: ObjectCache,
        pool: BufferPool,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._store = store
        self._cache = cache
        self._pool = pool
        self._clock = clock
        self._hot_slots = asyncio.Semaphore(settings.hot_reads_max)
        self._cold_slots = asyncio.Semaphore(settings.cold_reads_max)
        self.room = ReadRoom(pool, bytes_max=settings.cache_bytes_max + _BYTES_BEYOND_CACHE_MAX, clock=clock)
        self.counters = ReaderCounters()

    def bytes_to_read(self, where: Coordinates) -> int:
        """How many bytes reading this would bring into memory."""
        if where.key in self._cache:
            return 0
        return where.object_byte_length if self._is_hot(where) else where.byte_end - where.byte_start

    def cached(self, where: Coordinates) -> memoryview | None:
        """The bytes if they can be had without waiting and without checking them first."""
        entry = self._cache.get(where.key)
        if entry is None or _needs_stamp(entry, where):
            return None
        return entry.content[where.byte_start : where.byte_end]

    async def read(self, where: Coordinates) -> memoryview:
        entry = self._cache.get(where.key)
        if entry is None:
            if not self._is_hot(where):
                return await self._read_range(where)
            entry = await self._load(where)
        if _needs_stamp(entry, where):
            self._stamp_cached(entry, where)
        return entry.content[where.byte_start : where.byte_end]

    async def read_all(self, wanted: Sequence[Coordinates]) -> list[memoryview]:
        """Answers in the order asked; reads of different objects run side by side."""
        return list(await asyncio.gather(*(self.read(where) for where in wanted)))

    def _is_hot(self, where: Coordinates) -> bool:
        age_ms = self._clock.now_ms() - where.committed_ms
        return age_ms < self._settings.hot_window_ms and where.object_byte_length <= _WHOLE_OBJECT_BYTES_MAX

    async def _load(self, where: Coordinates) -> CachedObject:
        try:
            return await self._cache.load(where.key, lambda: self._read_whole(where))
        except ConnectionAbortedError as error:
            raise Unavailable(f"the client for whom object {where.key} was being read has left") from error

    def _stamp_cached(self, entry: CachedObject, where: Coordinates) -> None:
        run = entry.content[where.run_byte_start : where.run_byte_end]
        try:
            self._stamp(run, where.run_base_offset, where)
        except CorruptData:
            # Perhaps only this copy was damaged on its way; the next reader shall have another.
            self._cache.forget(where.key)
            raise
        entry.stamped_runs.add(where.run_byte_start)

    def _stamp(self, run: memoryview, base_offset: int, where: Coordinates) -> None:
        try:
            stamp_run(run, base_offset, where)
        except CorruptData:
            self.counters.corrupt_runs += 1
            log.exception("corrupt run", extra={"key": where.key, "offset": where.run_base_offset})
            raise

    async def _read_whole(self, where: Coordinates) -> memoryview:
        content = self._pool.lease(where.object_byte_length)
        await self._read_into(where, 0, content, slots=self._hot_slots)
        self.counters.hot_reads += 1
        return content

    async def _read_range(self, where: Coordinates) -> memoryview:
        content = self._pool.lease(where.byte_end - where.byte_start)
        await self._read_into(where, where.byte_start, content, slots=self._cold_slots)
        self.counters.cold_reads += 1
        if not where.offsets_in_bytes:
            self._stamp(content, where.base_offset, where)
        return content

    async def _read_into(
        self, where: Coordinates, start: int, target: memoryview, *, slots: AbstractAsyncContextManager[None]
    ) -> None:
        try:
            async with asyncio.timeout(self._settings.read_deadline_ms / 1000), slots:
                await self._store.get_into(where.key, start, target)
        except TimeoutError as error:
            raise Unavailable(f"object {where.key} was not read within its deadline") from error
        except ObjectMissing as error:
            # Deleted between find and read, after its grace period; asking again finds where the data went.
            self.counters.missing_objects += 1
            raise Unavailable(f"object {where.key} is gone") from error
        except CorruptData:
            self.counters.corrupt_runs += 1
            raise
        self.counters.read_bytes += len(target)


def _needs_stamp(entry: CachedObject, where: Coordinates) -> bool:
    return not where.offsets_in_bytes and where.run_byte_start not in entry.stamped_runs

"""Bytes for coordinates: from the cache, or from storage."""

import asyncio
import logging
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from inkless.buffers import BufferPool
from inkless.clock import Clock
from inkless.coordinator.types import Coordinates
from inkless.errors import CorruptData, Unavailable
from inkless.fetch.cache import CachedObject, ObjectCache
from inkless.fetch.room import ReadRoom
from inkless.fetch.stamping import stamp_run
from inkless.fetch.units import ReadUnit, unit_for
from inkless.settings import FetchSettings
from inkless.storage.contract import ObjectMissing, ObjectStore

log = logging.getLogger(__name__)

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

    How much is read at once is decided by `units`. Old objects have a limit of reads of their own, so that a
    backfill does not take the connections of those who read at the tail.
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

    def unit_for(self, where: Coordinates) -> ReadUnit:
        return unit_for(where, self._settings, self._clock.now_ms())

    def is_cached(self, where: Coordinates, unit: ReadUnit) -> bool:
        return where.key in self._cache or (unit.cache_key is not None and unit.cache_key in self._cache)

    def cached(self, where: Coordinates, unit: ReadUnit) -> memoryview | None:
        """The bytes if they can be had without waiting and without checking them first."""
        entry = self._entry(where, unit)
        return None if entry is None or _needs_stamp(entry, where) else entry.view(where)

    async def read(self, where: Coordinates, unit: ReadUnit | None = None) -> memoryview:
        unit = unit or self.unit_for(where)
        try:
            return await self._read_checked(where, unit)
        except CorruptData:
            # Perhaps only this copy was damaged on its way. Clients give up when they are told of corruption,
            # so another copy is asked for first.
            return await self._read_checked(where, unit)

    async def _read_checked(self, where: Coordinates, unit: ReadUnit) -> memoryview:
        entry = self._entry(where, unit)
        if entry is None:
            if unit.cache_key is None:
                return await self._read_uncached(where, unit)
            entry = await self._load(where, unit, unit.cache_key)
        if _needs_stamp(entry, where):
            self._stamp_cached(entry, where, unit)
        return entry.view(where)

    def _entry(self, where: Coordinates, unit: ReadUnit) -> CachedObject | None:
        """What this broker wrote is kept whole, whatever would be read of it."""
        if unit.cache_key is not None and unit.cache_key != where.key and where.key not in self._cache:
            return self._cache.get(unit.cache_key)
        return self._cache.get(where.key)

    async def _load(self, where: Coordinates, unit: ReadUnit, cache_key: str) -> CachedObject:
        async def read() -> CachedObject:
            content = await self._read_unit(where, unit, slots=self._hot_slots)
            self.counters.hot_reads += 1
            return CachedObject(content, byte_start=unit.byte_start)

        try:
            return await self._cache.load(cache_key, read)
        except ConnectionAbortedError as error:
            raise Unavailable(f"the client for whom object {where.key} was being read has left") from error

    async def _read_uncached(self, where: Coordinates, unit: ReadUnit) -> memoryview:
        content = await self._read_unit(where, unit, slots=self._cold_slots)
        self.counters.cold_reads += 1
        wanted = content[where.byte_start - unit.byte_start :]
        if not where.offsets_in_bytes:
            self._stamp(wanted, where.base_offset, where)
        return wanted

    def _stamp_cached(self, entry: CachedObject, where: Coordinates, unit: ReadUnit) -> None:
        start, end = where.run_byte_start - entry.byte_start, where.run_byte_end - entry.byte_start
        try:
            self._stamp(entry.content[start:end], where.run_base_offset, where)
        except CorruptData:
            self._cache.forget(where.key)
            if unit.cache_key is not None:
                self._cache.forget(unit.cache_key)
            raise
        entry.stamped_runs.add(where.run_byte_start)

    def _stamp(self, run: memoryview, base_offset: int, where: Coordinates) -> None:
        try:
            stamp_run(run, base_offset, where)
        except CorruptData:
            self.counters.corrupt_runs += 1
            log.exception("corrupt run", extra={"key": where.key, "offset": where.run_base_offset})
            raise

    async def _read_unit(
        self, where: Coordinates, unit: ReadUnit, *, slots: AbstractAsyncContextManager[None]
    ) -> memoryview:
        content = self._pool.lease(unit.byte_length)
        await self._read_into(where, unit.byte_start, content, slots=slots)
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

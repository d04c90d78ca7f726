"""Orphans: objects that were uploaded and never committed, found by looking through storage."""

import logging
from collections.abc import Sequence

from inkless.clock import Clock, Entropy
from inkless.coordinator.contract import Housekeeping
from inkless.coordinator.types import ObjectId
from inkless.housekeeping.counters import HousekeepingCounters
from inkless.settings.housekeeping import HousekeepingSettings
from inkless.storage.contract import ObjectMeta, ObjectStore
from inkless.storage.keys import WAL_PREFIX, parse_wal_key

log = logging.getLogger(__name__)

_PREFIXES = 256
_REMEMBERED_MAX = 100_000


class OrphanChore:
    """Looks through one of the 256 prefixes of WAL objects with every step, spread over the interval.

    It deletes nothing: what it finds is condemned, and then is garbage like any other. It begins anywhere, so
    that brokers which never live for a whole interval still come round. What is not named as a WAL object is
    not ours and is left alone.
    """

    name = "orphans"

    def __init__(
        self,
        settings: HousekeepingSettings,
        *,
        control_plane: Housekeeping,
        store: ObjectStore,
        clock: Clock,
        entropy: Entropy,
        counters: HousekeepingCounters,
    ) -> None:
        self.interval_s = settings.orphan_interval_ms / 1000 / _PREFIXES
        self._age_ms = settings.orphan_age_ms
        self._control_plane = control_plane
        self._store = store
        self._clock = clock
        self._counters = counters
        self._next = int(entropy.uniform() * _PREFIXES)
        self._counted: set[ObjectId] = set()

    async def step(self) -> float:
        async for page in self._store.list(f"{WAL_PREFIX}{self._next:02x}/"):
            await self._condemn(page)
        self._next = (self._next + 1) % _PREFIXES
        return self.interval_s

    async def _condemn(self, page: Sequence[ObjectMeta]) -> None:
        latest_ms = self._clock.now_ms() - self._age_ms
        old = {
            ObjectId(object_id): meta
            for meta in page
            if meta.modified_ms < latest_ms and (object_id := parse_wal_key(meta.key)) is not None
        }
        if old:
            self._count([old[object_id] for object_id in await self._new_orphans(list(old))])

    async def _new_orphans(self, object_ids: Sequence[ObjectId]) -> list[ObjectId]:
        condemned = await self._control_plane.condemn_objects(object_ids)
        # Until they are deleted they are found again in every round.
        new = [object_id for object_id in condemned if object_id not in self._counted]
        if len(self._counted) > _REMEMBERED_MAX:
            self._counted.clear()
        self._counted.update(new)
        return new

    def _count(self, orphans: Sequence[ObjectMeta]) -> None:
        self._counters.orphans_found += len(orphans)
        self._counters.orphan_bytes_found += sum(orphan.byte_length for orphan in orphans)
        if orphans:
            log.info("orphans found", extra={"objects": len(orphans), "first": orphans[0].key})

"""Garbage: objects that nothing has referred to for the grace period are deleted, then forgotten."""

import logging
from collections.abc import Sequence

from inkless.clock import Clock
from inkless.coordinator.contract import Housekeeping
from inkless.coordinator.types import ObjectId, UnreferencedObject
from inkless.errors import InklessError
from inkless.housekeeping.chore import PAUSE_S
from inkless.housekeeping.counters import HousekeepingCounters
from inkless.settings.housekeeping import HousekeepingSettings
from inkless.storage.contract import ObjectStore
from inkless.storage.keys import wal_key

log = logging.getLogger(__name__)

_PASSED_OVER_MAX = 1_000


class GarbageChore:
    """Deletes one batch with every step, the oldest first, and goes on at once while batches are full.

    A batch that fails is halved until it goes through or a single object is left that storage will not
    delete. That one is passed over until all others are gone, or it would keep them in storage for ever.
    """

    name = "garbage"

    def __init__(
        self,
        settings: HousekeepingSettings,
        *,
        control_plane: Housekeeping,
        store: ObjectStore,
        clock: Clock,
        counters: HousekeepingCounters,
    ) -> None:
        self.interval_s = settings.cleaner_interval_ms / 1000
        self._grace_ms = settings.cleaner_grace_ms
        self._control_plane = control_plane
        self._store = store
        self._clock = clock
        self._counters = counters
        self._batch_size_max = self._batch_size = settings.cleaner_objects_max
        self._passed_over: set[ObjectId] = set()

    async def step(self) -> float:
        found = await self._control_plane.unreferenced_objects(
            since_before_ms=self._clock.now_ms() - self._grace_ms,
            count_max=self._batch_size + len(self._passed_over),
        )
        self._counters.waiting_objects = len(found)
        batch = [each for each in found if each.object_id not in self._passed_over][: self._batch_size]
        is_full = len(batch) == self._batch_size
        if batch:
            await self._delete(batch)
        if is_full:
            return PAUSE_S
        self._passed_over.clear()
        return self.interval_s

    async def _delete(self, batch: Sequence[UnreferencedObject]) -> None:
        try:
            # An object that was condemned has no key in the database, which knows only its id.
            await self._store.delete([each.key or wal_key(each.object_id) for each in batch])
        except InklessError:
            self._narrow_down(batch)
            raise
        await self._control_plane.forget_objects([each.object_id for each in batch])
        self._batch_size = min(self._batch_size_max, 2 * self._batch_size)
        self._counters.waiting_objects -= len(batch)
        self._counters.deleted_objects += len(batch)
        self._counters.deleted_bytes += sum(each.byte_length for each in batch)

    def _narrow_down(self, batch: Sequence[UnreferencedObject]) -> None:
        self._batch_size = max(1, len(batch) // 2)
        if len(batch) == 1 and len(self._passed_over) < _PASSED_OVER_MAX:
            log.warning("object cannot be deleted, passed over", extra={"key": batch[0].key})
            self._passed_over.add(batch[0].object_id)

"""The housekeeper of a broker: does those chores that no other broker is doing."""

import logging
from collections.abc import Sequence

from inkless.clock import Clock, Entropy, TaskOwner
from inkless.cluster.directory import TopicDirectory
from inkless.coordinator.contract import ControlPlane
from inkless.errors import InklessError
from inkless.housekeeping.chore import Chore
from inkless.housekeeping.counters import HousekeepingCounters
from inkless.housekeeping.duty_lease import DutyLease
from inkless.housekeeping.garbage import GarbageChore
from inkless.housekeeping.idle_producers import IdleProducerChore
from inkless.housekeeping.orphans import OrphanChore
from inkless.housekeeping.retention import RetentionChore
from inkless.settings.housekeeping import HousekeepingSettings
from inkless.storage.contract import ObjectStore

log = logging.getLogger(__name__)

_RETRY_S_MAX = 10.0
_LEASE_MARGIN_MS = 30_000
_LEASE_MS_MAX = 86_400_000


class Housekeeper:
    """One task for each chore: hold the lease, take a step, wait.

    The lease outlasts the longest wait, so one broker keeps a chore while it lives. When it dies, another one
    finds the lease free; when it stops, it gives the lease back.
    """

    def __init__(
        self,
        settings: HousekeepingSettings,
        *,
        broker_id: int,
        control_plane: ControlPlane,
        store: ObjectStore,
        directory: TopicDirectory,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self.counters = counters = HousekeepingCounters()
        self._clock = clock
        self._entropy = entropy
        chores: Sequence[Chore] = (
            RetentionChore(
                settings, control_plane=control_plane, directory=directory, clock=clock, counters=counters
            ),
            GarbageChore(settings, control_plane=control_plane, store=store, clock=clock, counters=counters),
            OrphanChore(
                settings,
                control_plane=control_plane,
                store=store,
                clock=clock,
                entropy=entropy,
                counters=counters,
            ),
            IdleProducerChore(settings, control_plane=control_plane, clock=clock, counters=counters),
        )
        # Not the process: a broker that was killed finds its own leases when it is back, and need not wait.
        holder = f"broker {broker_id}".encode()
        self._duties = [
            (
                chore,
                DutyLease(
                    chore.name,
                    holder=holder,
                    lease_ms=min(_LEASE_MS_MAX, int(2000 * chore.interval_s)) + _LEASE_MARGIN_MS,
                    control_plane=control_plane,
                    clock=clock,
                ),
            )
            for chore in chores
        ]
        self._tasks = TaskOwner("housekeeping", tasks_max=len(chores))

    def start(self) -> None:
        for chore, lease in self._duties:
            self._tasks.spawn(self._keep_doing(chore, lease))

    async def close(self) -> None:
        await self._tasks.close()
        for _, lease in self._duties:
            try:
                await lease.release()
            except InklessError as error:
                log.warning("duty not given back, its lease will run out", extra={"error": str(error)})

    async def _keep_doing(self, chore: Chore, lease: DutyLease) -> None:
        # Brokers that are started together do not all ask at once, and clients are served first.
        await self._clock.sleep(chore.interval_s * (1 + self._entropy.uniform()) / 2)
        while True:
            try:
                wait_s = await chore.step() if await lease.hold() else chore.interval_s
            except InklessError as error:
                self.counters.failed_steps += 1
                wait_s = min(chore.interval_s, _RETRY_S_MAX)
                log.warning(
                    "housekeeping failed, trying again", extra={"chore": chore.name, "error": str(error)}
                )
            await self._clock.sleep(wait_s)

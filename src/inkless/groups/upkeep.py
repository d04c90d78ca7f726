"""What must be done for groups that nobody asks for."""

import logging
from collections.abc import Sequence

from inkless.clock import Clock, TaskOwner
from inkless.cluster.membership import Membership
from inkless.coordinator.contract import GroupStore
from inkless.errors import InklessError
from inkless.groups.coordinator import GroupCoordinator
from inkless.settings import GroupSettings

log = logging.getLogger(__name__)

_LOOK_AROUND_S = 1.0
_EXPIRY_INTERVAL_S_MAX = 600.0
_EXPIRIES_PER_RETENTION = 4
_EXPIRED_AT_ONCE_MAX = 100
"""So that commits do not wait long behind the deletion of many groups."""


class GroupUpkeep:
    """Gives up groups that have moved, and expires those that were not used for the time of retention.

    Every broker notes its groups with members several times per retention before it expires anything, so a
    group that is not noted is used by nobody, wherever it was coordinated last.
    """

    def __init__(
        self,
        coordinator: GroupCoordinator,
        settings: GroupSettings,
        *,
        store: GroupStore,
        membership: Membership,
        clock: Clock,
    ) -> None:
        self._coordinator = coordinator
        self._store = store
        self._membership = membership
        self._clock = clock
        self._retention_ms = settings.offsets_retention_minutes * 60_000
        self._expiry_interval_s = min(
            _EXPIRY_INTERVAL_S_MAX, self._retention_ms / 1000 / _EXPIRIES_PER_RETENTION
        )
        self._tasks = TaskOwner("group upkeep", tasks_max=2)

    def start(self) -> None:
        self._tasks.spawn(self._follow_brokers())
        self._tasks.spawn(self._keep_expiring())

    async def close(self) -> None:
        await self._tasks.close()

    async def expire(self) -> int:
        """How many groups were unused for too long."""
        expired_count = 0
        while True:
            expired: Sequence[str] = await self._store.expire_groups(
                self._coordinator.fences_in_use(),
                unused_before_ms=self._clock.now_ms() - self._retention_ms,
                count_max=_EXPIRED_AT_ONCE_MAX,
            )
            expired_count += len(expired)
            for group_id in expired:
                self._coordinator.forget(group_id)
            if len(expired) < _EXPIRED_AT_ONCE_MAX:
                return expired_count

    async def _follow_brokers(self) -> None:
        known: list[int] = []
        while True:
            living = [broker.broker_id for broker in self._membership.brokers]
            if living != known:
                known = living
                self._coordinator.drop_those_of_others()
            await self._clock.sleep(_LOOK_AROUND_S)

    async def _keep_expiring(self) -> None:
        while True:
            await self._clock.sleep(self._expiry_interval_s)
            try:
                expired_count = await self.expire()
            except InklessError as error:
                log.warning("unused groups not expired, trying again", extra={"error": str(error)})
            else:
                if expired_count:
                    log.info("unused groups expired", extra={"groups": expired_count})

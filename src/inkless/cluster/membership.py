"""This broker's place in the cluster, and who else is alive."""

import asyncio
import logging
from collections.abc import Sequence

from inkless.clock import Clock, TaskOwner
from inkless.cluster.directory import TopicDirectory
from inkless.coordinator.contract import ClusterMetadata
from inkless.coordinator.types import BrokerRegistration
from inkless.errors import InklessError, RequestError, Unavailable
from inkless.protocol.error_codes import ErrorCode

log = logging.getLogger(__name__)

_RENEWALS_PER_LEASE = 3
_TRIES_PER_LEASE = 10
_LEASES_WAITED = 1.2
_CATCH_UP_S_MAX = 1.0
_LOOK_AROUND_S = 0.5


class Membership:
    """Holds the broker's lease, and follows the other brokers and the topics while it does.

    A broker that cannot renew keeps serving: its commits are as safe as ever, since the coordinator makes the
    order. It only disappears from what others tell their clients.
    """

    def __init__(
        self,
        registration: BrokerRegistration,
        *,
        metadata: ClusterMetadata,
        directory: TopicDirectory,
        lease_ms: int,
        clock: Clock,
    ) -> None:
        self._registration = registration
        self._metadata = metadata
        self._directory = directory
        self._lease_ms = lease_ms
        self._clock = clock
        self._brokers: Sequence[BrokerRegistration] = [registration]
        self._held_until = 0.0
        self._loaded_at = float("-inf")
        self._loading = asyncio.Lock()
        self._tasks = TaskOwner("membership", tasks_max=1)
        self._catching_up = TaskOwner("membership news", tasks_max=1)

    @property
    def registration(self) -> BrokerRegistration:
        return self._registration

    @property
    def brokers(self) -> Sequence[BrokerRegistration]:
        """The living ones by id, this one always among them."""
        return self._brokers

    @property
    def holds_lease(self) -> bool:
        """Whether others count this broker among the living; false too while the database is out of reach."""
        return self._clock.monotonic() < self._held_until

    @property
    def controller_id(self) -> int:
        """There is no controller; tools want one. Every broker can do all, so the lowest id will do."""
        return self._brokers[0].broker_id

    async def join(self) -> None:
        """RequestError DUPLICATE_BROKER_REGISTRATION when another process goes on holding this node id."""
        await self._take_lease()
        await self.refresh()
        self._tasks.spawn(self._keep_renewing())

    async def refresh(self) -> None:
        """Raises Unavailable."""
        async with self._loading:
            await self._load()

    async def catch_up(self) -> None:
        """For requests that name what this broker has not heard of, which another may have made just now.

        However many ask at once, the database is asked at most twice; one that does not answer soon leaves
        the broker with what it knows.
        """
        await self._load_unless_loaded_after(self._clock.monotonic())

    def catch_up_soon(self) -> None:
        """The same for those who cannot wait, whose clients will ask again."""
        if not self._catching_up:
            self._catching_up.spawn(self.catch_up())

    async def look_around(self) -> None:
        """For requests that name nothing unknown: their clients may be looking for a broker that has gone."""
        await self._load_unless_loaded_after(self._clock.monotonic() - _LOOK_AROUND_S)

    async def _load_unless_loaded_after(self, moment: float) -> None:
        try:
            async with asyncio.timeout(_CATCH_UP_S_MAX), self._loading:
                if self._loaded_at <= moment:
                    await self._load()
        except (Unavailable, TimeoutError) as error:
            log.warning("answering from what is known", extra={"error": repr(error)})

    async def _load(self) -> None:
        began_at = self._clock.monotonic()
        await self._directory.refresh()
        living = {broker.broker_id: broker for broker in await self._metadata.living_brokers()}
        living[self._registration.broker_id] = self._registration
        self._brokers = [living[broker_id] for broker_id in sorted(living)]
        self._loaded_at = began_at

    async def leave(self) -> None:
        await self._catching_up.close()
        await self._tasks.close()
        try:
            await self._metadata.deregister_broker(
                self._registration.broker_id, self._registration.incarnation
            )
        except InklessError as error:
            log.warning("lease not given back, it will run out", extra={"error": str(error)})

    async def _take_lease(self) -> None:
        """A broker that was killed could not give its lease back, so its successor waits until that has run
        out; a holder that lives renews within that time and keeps it."""
        patience_s = self._lease_ms / 1000 * _LEASES_WAITED
        deadline = self._clock.monotonic() + patience_s
        waiting = False
        while True:
            try:
                await self._renew()
            except RequestError as error:
                if error.code is not ErrorCode.DUPLICATE_BROKER_REGISTRATION:
                    raise
                if self._clock.monotonic() >= deadline:
                    raise
                if not waiting:
                    log.warning(
                        "waiting for the lease of this node id to run out", extra={"error": str(error)}
                    )
                waiting = True
                await self._clock.sleep(self._lease_ms / 1000 / _TRIES_PER_LEASE)
            else:
                return

    async def _renew(self) -> None:
        asked_at = self._clock.monotonic()
        await self._metadata.register_broker(self._registration, lease_ms=self._lease_ms)
        self._held_until = asked_at + self._lease_ms / 1000

    async def _keep_renewing(self) -> None:
        while True:
            await self._clock.sleep(self._lease_ms / 1000 / _RENEWALS_PER_LEASE)
            try:
                await self._renew()
                await self.refresh()
            except InklessError as error:
                log.warning("lease not renewed, trying again", extra={"error": str(error)})

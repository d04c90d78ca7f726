"""Producers that have sent nothing for long: their last sequence numbers are forgotten."""

from inkless.clock import Clock
from inkless.coordinator.contract import Housekeeping
from inkless.housekeeping.chore import PAUSE_S
from inkless.housekeeping.counters import HousekeepingCounters
from inkless.settings.housekeeping import HousekeepingSettings

_EXPIRED_AT_ONCE_MAX = 1_000
"""So that commits do not wait long behind it."""


class IdleProducerChore:
    """Forgets some with every step."""

    name = "producers"

    def __init__(
        self,
        settings: HousekeepingSettings,
        *,
        control_plane: Housekeeping,
        clock: Clock,
        counters: HousekeepingCounters,
    ) -> None:
        self.interval_s = settings.producer_interval_ms / 1000
        self._expiration_ms = settings.producer_expiration_ms
        self._control_plane = control_plane
        self._clock = clock
        self._counters = counters

    async def step(self) -> float:
        expired = await self._control_plane.expire_producers(
            unused_before_ms=self._clock.now_ms() - self._expiration_ms, count_max=_EXPIRED_AT_ONCE_MAX
        )
        self._counters.producers_expired += expired
        return PAUSE_S if expired == _EXPIRED_AT_ONCE_MAX else self.interval_s

"""The lease that keeps two brokers from doing the same chore at once."""

from inkless.clock import Clock
from inkless.coordinator.contract import Housekeeping

_RENEWALS_PER_LEASE = 4


class DutyLease:
    """Held from step to step, and over the pauses between them.

    It saves work and is no lock: a step that outlasts its lease does no harm, since steps can be repeated.
    """

    def __init__(
        self, duty: str, *, holder: bytes, lease_ms: int, control_plane: Housekeeping, clock: Clock
    ) -> None:
        self._duty = duty
        self._holder = holder
        self._lease_ms = lease_ms
        self._control_plane = control_plane
        self._clock = clock
        self._renew_at = float("-inf")
        self._is_held = False

    async def hold(self) -> bool:
        """Takes or renews the lease where that is due; false while another broker has it."""
        now = self._clock.monotonic()
        if not self._is_held or now >= self._renew_at:
            self._is_held = await self._control_plane.acquire_duty(
                self._duty, self._holder, lease_ms=self._lease_ms
            )
            self._renew_at = now + self._lease_ms / 1000 / _RENEWALS_PER_LEASE
        return self._is_held

    async def release(self) -> None:
        if self._is_held:
            self._is_held = False
            await self._control_plane.release_duty(self._duty, self._holder)

"""A broker's lease: taken, renewed, given back, and what others may conclude from it."""

from pathlib import Path

from inkless.cluster.membership import Membership
from support.cluster_parts import BreakableControlPlane, a_broker, cluster_parts


class HandClock:
    """Time that passes when told to; sleeping takes no time."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def now_ms(self) -> int:
        return int(self.seconds * 1000)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing here waits")


async def test_a_broker_is_healthy_while_its_lease_runs(tmp_path: Path) -> None:
    clock = HandClock()
    async with cluster_parts(tmp_path) as parts:
        link = BreakableControlPlane(parts.control_plane)
        membership = Membership(
            a_broker(7),
            metadata=link,  # type: ignore[arg-type]  # passes every call on
            directory=parts.directory,
            lease_ms=10_000,
            clock=clock,
        )
        assert not membership.holds_lease
        await membership._take_lease()
        assert membership.holds_lease
        clock.seconds += 9.9
        assert membership.holds_lease
        clock.seconds += 0.1
        assert not membership.holds_lease
        await membership._renew()
        assert membership.holds_lease

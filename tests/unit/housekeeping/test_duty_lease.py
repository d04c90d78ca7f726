from inkless.housekeeping.duty_lease import DutyLease
from support.cluster_parts import BreakableControlPlane
from support.housekeeping_parts import House

LEASE_MS = 1_000


def a_lease(house: House, holder: bytes) -> DutyLease:
    return DutyLease("sweep", holder=holder, lease_ms=LEASE_MS, control_plane=house.plane, clock=house.clock)


async def test_only_one_holds_a_duty(house: House) -> None:
    one, two = a_lease(house, b"one"), a_lease(house, b"two")
    assert await one.hold()
    assert not await two.hold()
    await one.release()
    assert await two.hold()
    assert not await one.hold()


async def test_who_does_not_hold_it_gives_nothing_back(house: House) -> None:
    one, two = a_lease(house, b"one"), a_lease(house, b"two")
    await one.hold()
    await two.hold()
    await two.release()
    assert not await two.hold()


async def test_a_holder_that_goes_on_keeps_it_and_one_that_stopped_loses_it(house: House) -> None:
    one, two = a_lease(house, b"one"), a_lease(house, b"two")
    for _ in range(10):
        assert await one.hold()
        house.clock.ms += LEASE_MS // 2
        assert not await two.hold()
    house.clock.ms += LEASE_MS
    assert await two.hold()
    assert not await one.hold()


async def test_a_broker_that_was_killed_finds_its_own_lease(house: House) -> None:
    assert await a_lease(house, b"broker 1").hold()
    assert await a_lease(house, b"broker 1").hold()


async def test_many_steps_within_a_lease_ask_the_database_few_times(house: House) -> None:
    link = BreakableControlPlane(house.plane)
    lease = DutyLease("sweep", holder=b"one", lease_ms=LEASE_MS, control_plane=link, clock=house.clock)
    for _ in range(100):
        assert await lease.hold()
        house.clock.ms += LEASE_MS // 100
    assert len(link.calls) == 4

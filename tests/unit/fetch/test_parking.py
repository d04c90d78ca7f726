"""Parked fetches are woken once, in the order they came, and leave nothing behind."""

import asyncio

from inkless.coordinator.types import PartitionId, TopicId
from inkless.fetch.parking import ParkingLot

A, B = (PartitionId(0, TopicId(bytes(16)), index) for index in range(2))


async def test_a_commit_before_the_wait_is_not_missed() -> None:
    lot = ParkingLot()
    with lot.park([A]) as place:
        lot.wake([A])
        assert await place.wait(600)


async def test_those_who_have_waited_longest_are_woken_first() -> None:
    lot = ParkingLot()
    woken: list[int] = []

    async def wait(number: int) -> None:
        with lot.park([A]) as place:
            await place.wait(600)
            woken.append(number)

    waiting = [asyncio.ensure_future(wait(number)) for number in range(50)]
    await asyncio.sleep(0)
    assert len(lot) == 50
    lot.wake([A])
    await asyncio.gather(*waiting)
    assert woken == list(range(50))
    assert len(lot) == 0


async def test_who_parks_for_two_partitions_is_counted_once_and_woken_by_either() -> None:
    lot = ParkingLot()
    with lot.park([A, B]) as place:
        assert len(lot) == 1
        lot.wake([B])
        lot.wake([A])
        assert await place.wait(600)
    assert len(lot) == 0


async def test_the_wait_ends_with_its_time() -> None:
    lot = ParkingLot()
    with lot.park([A]) as place:
        lot.wake([B])
        assert not await place.wait(0)
        assert not await place.wait(-1)


async def test_a_closed_lot_wakes_everybody() -> None:
    lot = ParkingLot()
    with lot.park([A]) as first, lot.park([B]) as second:
        lot.close()
        assert await first.wait(600)
        assert await second.wait(600)
    assert lot.closed


async def test_a_notice_wakes_those_it_names_and_one_without_names_everybody() -> None:
    lot = ParkingLot()
    with lot.park([A]) as first, lot.park([B]) as second:
        lot.hear_of([A])
        assert await first.wait(600)
        assert not await second.wait(0)
        lot.hear_of(None)
        assert await second.wait(600)

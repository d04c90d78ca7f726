"""One look for all who wait: it wakes those whose partition has moved, and misses no commit."""

from collections.abc import Sequence

import pytest

from inkless.clock import SystemClock
from inkless.coordinator.types import OffsetBounds, PartitionId, TopicId
from inkless.errors import Unavailable
from inkless.fetch import watch as module
from inkless.fetch.parking import ParkingLot
from inkless.fetch.watch import CommitWatch
from inkless.protocol.error_codes import ErrorCode

A, B, C = (PartitionId(0, TopicId(bytes(16)), index) for index in range(3))


class Logs:
    """A coordinator that knows only where logs end."""

    def __init__(self) -> None:
        self.ends: dict[PartitionId, int] = {}
        self.asked: list[list[PartitionId]] = []
        self.is_down = False

    async def offset_bounds(self, partitions: Sequence[PartitionId]) -> list[OffsetBounds]:
        self.asked.append(list(partitions))
        if self.is_down:
            raise Unavailable("cut off")
        return [OffsetBounds(each, ErrorCode.NONE, 0, self.ends.get(each, 0)) for each in partitions]


@pytest.fixture
def logs() -> Logs:
    return Logs()


@pytest.fixture
def lot() -> ParkingLot:
    return ParkingLot()


@pytest.fixture
def watch(logs: Logs, lot: ParkingLot) -> CommitWatch:
    coordinator: object = logs
    return CommitWatch(coordinator, lot, interval_ms=1, clock=SystemClock())  # type: ignore[arg-type]  # a part


async def test_nobody_is_asked_when_nobody_waits(watch: CommitWatch, logs: Logs) -> None:
    await watch.look()
    assert logs.asked == []


async def test_the_first_look_wakes_since_a_commit_may_have_come_before_it(
    watch: CommitWatch, lot: ParkingLot
) -> None:
    with lot.park([A]) as place:
        await watch.look()
        assert await place.wait(0)


async def test_only_those_whose_partition_has_moved_are_woken(
    watch: CommitWatch, logs: Logs, lot: ParkingLot
) -> None:
    with lot.park([A, B, C]):
        await watch.look()
        with lot.park([A]) as first, lot.park([B]) as second, lot.park([B, C]) as both:
            logs.ends[C] = 7
            await watch.look()
            assert not await first.wait(0)
            assert not await second.wait(0)
            assert await both.wait(0)


async def test_a_partition_is_asked_for_once_however_many_wait(
    watch: CommitWatch, logs: Logs, lot: ParkingLot
) -> None:
    with lot.park([A]), lot.park([A]), lot.park([A, B]):
        await watch.look()
    assert [sorted(asked) for asked in logs.asked] == [[A, B]]


async def test_many_partitions_are_asked_for_in_parts(
    watch: CommitWatch, logs: Logs, lot: ParkingLot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PARTITIONS_AT_ONCE_MAX", 2)
    with lot.park([A, B, C]) as place:
        await watch.look()
        assert await place.wait(0)
    assert [len(asked) for asked in logs.asked] == [2, 1]


async def test_a_look_that_failed_makes_none_of_the_next_ones_miss_anything(
    watch: CommitWatch, logs: Logs, lot: ParkingLot
) -> None:
    with lot.park([A]):
        await watch.look()
        with lot.park([A]) as place:
            logs.ends[A] = 1
            logs.is_down = True
            with pytest.raises(Unavailable):
                await watch.look()
            assert not await place.wait(0)
            logs.is_down = False
            await watch.look()
            assert await place.wait(0)


async def test_it_goes_on_looking_after_a_failure(watch: CommitWatch, logs: Logs, lot: ParkingLot) -> None:
    with lot.park([A]) as place:
        logs.is_down = True
        watch.start()
        while not logs.asked:
            assert not await place.wait(0.001)
        logs.is_down = False
        assert await place.wait(60)
    await watch.close()

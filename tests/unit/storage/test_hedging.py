"""Hedged reads, with time turned by hand and answers given when the test says so."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from inkless.errors import CorruptData, Unavailable
from inkless.storage.contract import ObjectMissing
from inkless.storage.hedging import HEDGES_BURST_MAX, HEDGES_PER_READ_MAX, HedgedStore
from inkless.storage.memory import MemoryStore
from inkless.storage.meter import StoreMeter


class HandClock:
    """A clock whose sleepers wake when told."""

    def __init__(self) -> None:
        self.sleepers: list[tuple[float, asyncio.Event]] = []

    def now_ms(self) -> int:
        return 0

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        self.sleepers.append((seconds, woken))
        await woken.wait()

    async def wake_all(self) -> None:
        await settle()
        for _, woken in self.sleepers:
            woken.set()
        self.sleepers.clear()
        await settle()


class HeldStore(MemoryStore):
    """Reads wait until the test answers them, in the order in which they came."""

    def __init__(self, clock: HandClock) -> None:
        super().__init__(clock)
        self.reads: list[asyncio.Future[Any]] = []

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> memoryview:
        read: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.reads.append(read)
        return memoryview(await read)


class Bench:
    """A hedged store over a held one."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.held = HeldStore(self.clock)
        self.meter = StoreMeter()
        self.store = HedgedStore(self.held, self.clock, self.meter, hedge_after_ms=50)

    def get(self) -> asyncio.Task[memoryview]:
        return asyncio.ensure_future(self.store.get("x", start=0, end=1))


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    await made.store.close()
    assert len(made.store._tasks) == 0


async def test_a_quick_answer_is_not_hedged(bench: Bench) -> None:
    reading = bench.get()
    await settle()
    assert [seconds for seconds, _ in bench.clock.sleepers] == [0.05]
    bench.held.reads[0].set_result(b"1")
    assert bytes(await reading) == b"1"
    assert len(bench.held.reads) == 1
    assert bench.meter.hedge_count == 0


async def test_a_slow_read_is_sent_again_and_the_second_may_win(bench: Bench) -> None:
    reading = bench.get()
    await bench.clock.wake_all()
    first, second = bench.held.reads
    second.set_result(b"2")
    assert bytes(await reading) == b"2"
    await settle()
    assert first.cancelled()
    assert (bench.meter.hedge_count, bench.meter.hedge_win_count) == (1, 1)


async def test_the_first_may_still_win(bench: Bench) -> None:
    reading = bench.get()
    await bench.clock.wake_all()
    first, second = bench.held.reads
    first.set_result(b"1")
    assert bytes(await reading) == b"1"
    await settle()
    assert second.cancelled()
    assert (bench.meter.hedge_count, bench.meter.hedge_win_count) == (1, 0)


@pytest.mark.parametrize("failing", [0, 1])
async def test_one_that_is_unavailable_leaves_it_to_the_other(bench: Bench, failing: int) -> None:
    reading = bench.get()
    await bench.clock.wake_all()
    bench.held.reads[failing].set_exception(Unavailable("down"))
    await settle()
    assert not reading.done()
    bench.held.reads[1 - failing].set_result(b"ok")
    assert bytes(await reading) == b"ok"


async def test_both_unavailable_is_unavailable_and_no_task_is_said_to_have_failed(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        reading = bench.get()
        await bench.clock.wake_all()
        for read in bench.held.reads:
            read.set_exception(Unavailable("down"))
        with pytest.raises(Unavailable, match="down"):
            await reading
    assert caplog.records == []


@pytest.mark.parametrize("error", [ObjectMissing("x"), CorruptData("x")])
async def test_an_error_that_no_retry_mends_ends_the_race(bench: Bench, error: Exception) -> None:
    reading = bench.get()
    await bench.clock.wake_all()
    bench.held.reads[0].set_exception(error)
    with pytest.raises(type(error)):
        await reading
    await settle()
    assert bench.held.reads[1].cancelled()


async def test_an_error_before_the_hedge_is_passed_on_at_once(bench: Bench) -> None:
    reading = bench.get()
    await settle()
    bench.held.reads[0].set_exception(Unavailable("down"))
    with pytest.raises(Unavailable):
        await reading
    assert len(bench.held.reads) == 1


async def test_a_cancelled_reader_takes_both_requests_along(bench: Bench) -> None:
    reading = bench.get()
    await bench.clock.wake_all()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await settle()
    assert [read.cancelled() for read in bench.held.reads] == [True, True]


async def test_hedges_are_rationed(bench: Bench) -> None:
    readings = [bench.get() for _ in range(HEDGES_BURST_MAX * 3)]
    await bench.clock.wake_all()
    assert bench.meter.hedge_count == HEDGES_BURST_MAX
    for read in bench.held.reads:
        read.set_result(b"1")
    await asyncio.gather(*readings)
    # Ten quick reads earn one hedge.
    for _ in range(round(1 / HEDGES_PER_READ_MAX)):
        reading = bench.get()
        await settle()
        bench.held.reads[-1].set_result(b"1")
        await reading
    slow = [bench.get(), bench.get()]
    await bench.clock.wake_all()
    assert bench.meter.hedge_count == HEDGES_BURST_MAX + 1
    for read in bench.held.reads[-3:]:
        read.set_result(b"1")
    await asyncio.gather(*slow)


async def test_get_into_copies_only_the_winner(bench: Bench) -> None:
    target = bytearray(1)
    reading = asyncio.ensure_future(bench.store.get_into("x", 0, memoryview(target)))
    await bench.clock.wake_all()
    first, second = bench.held.reads
    second.set_result(b"2")
    await reading
    await settle()
    assert target == b"2"
    assert first.cancelled()


async def test_what_is_no_read_goes_straight_through(bench: Bench) -> None:
    await bench.store.put("a/b", [b"1"])
    assert [meta.key async for page in bench.store.list("a/") for meta in page] == ["a/b"]
    assert [bytes(piece) for piece in await bench.store.get_ranges("a/b", [(0, 1)])] == [b"1"]
    await bench.store.delete(["a/b"])
    assert [page async for page in bench.store.list("a/")] == []

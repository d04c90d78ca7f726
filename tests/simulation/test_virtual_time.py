"""Time passes only as far as the next timer, and a deadlock is told instead of waited for."""

import asyncio

import pytest

from simulation.virtual_time import EPOCH_MS, NobodyWillEverRun, VirtualClock, VirtualLoop


def test_sleepers_wake_in_the_order_of_their_times() -> None:
    async def main() -> list[tuple[float, int]]:
        clock = VirtualClock()
        woken: list[tuple[float, int]] = []

        async def sleep(seconds: float) -> None:
            await clock.sleep(seconds)
            woken.append((round(clock.monotonic(), 6), clock.now_ms() - EPOCH_MS))

        await asyncio.gather(sleep(7200), sleep(0.5), sleep(3600))
        return woken

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(main()) == [(0.5, 500), (3600.0, 3_600_000), (7200.0, 7_200_000)]


def test_a_deadline_ends_what_would_hang() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(main()) == pytest.approx(10)


def test_a_deadlock_is_told() -> None:
    loop = VirtualLoop()
    waiting = loop.create_future()
    with pytest.raises(NobodyWillEverRun):
        loop.run_until_complete(waiting)
    loop.close()

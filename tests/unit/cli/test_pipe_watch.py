import asyncio
import io
import os

import pytest

from inkless.cli.pipe_watch import ended_by_reader
from inkless.clock import SystemClock


async def test_waiting_ends_when_the_reader_of_our_output_leaves() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as output:
        os.close(reading)
        with pytest.raises(BrokenPipeError):
            async with ended_by_reader(output, SystemClock()):
                await asyncio.Event().wait()


async def test_a_reader_that_stays_disturbs_nothing() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as output:
        async with ended_by_reader(output, SystemClock()):
            output.write(b"kept")
    assert os.read(reading, 10) == b"kept"
    os.close(reading)


async def test_a_cancellation_from_elsewhere_stays_one() -> None:
    async def wait() -> None:
        async with ended_by_reader(io.BytesIO(), SystemClock()):
            await asyncio.Event().wait()

    task = asyncio.get_running_loop().create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

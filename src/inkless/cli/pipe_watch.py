"""Notices that nobody reads our output any more, also while there is nothing to write."""

import asyncio
import contextlib
import select
from collections.abc import AsyncIterator, Callable
from typing import BinaryIO

from inkless.clock import Clock, TaskOwner

INTERVAL_S = 0.25


@contextlib.asynccontextmanager
async def ended_by_reader(output: BinaryIO, clock: Clock) -> AsyncIterator[None]:
    """Raises BrokenPipeError within the interval after the other end of the output was closed.

    `inkless consume t | head -1` would otherwise wait for another record only to learn that it is not wanted.
    It asks instead of registering with the event loop: uvloop would make the descriptor non-blocking, and
    with it whatever else shares it, such as the terminal.
    """
    tasks = TaskOwner("output watch", tasks_max=1)
    reading = asyncio.current_task()
    is_left = False

    async def watch(is_closed: Callable[[], bool]) -> None:
        nonlocal is_left
        while not is_closed():
            await clock.sleep(INTERVAL_S)
        is_left = True
        if reading is not None:
            reading.cancel()

    if (is_closed := _closed_check(output)) is not None:
        tasks.spawn(watch(is_closed))
    try:
        yield
    except asyncio.CancelledError:
        if is_left and reading is not None and reading.uncancel() == 0:
            raise BrokenPipeError from None
        raise
    finally:
        await tasks.close()


def _closed_check(output: BinaryIO) -> Callable[[], bool] | None:
    """Tells whether the other end is gone; None where there is no descriptor and so no other end."""
    try:
        descriptor = output.fileno()
    except OSError:
        return None
    poll = select.poll()
    # Without events to wait for, errors and hang-ups are all that is told.
    poll.register(descriptor, 0)
    return lambda: bool(poll.poll(0))

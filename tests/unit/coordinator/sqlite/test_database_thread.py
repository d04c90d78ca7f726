import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from inkless.coordinator.sqlite.database_thread import DatabaseThread
from inkless.errors import Unavailable


class Gate:
    """Executes by echoing, group by group, once it is let through."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.entered = threading.Event()
        self.groups: list[Sequence[object]] = []
        self.closed_in: str | None = None

    def execute(self, group: Sequence[object]) -> Sequence[Any]:
        self.entered.set()
        assert self.open.wait(10)
        self.groups.append(group)
        if "bug" in group:
            raise LookupError("bug")
        return group

    def close(self) -> None:
        self.closed_in = threading.current_thread().name


def thread_of(gate: Gate, **limits: int) -> DatabaseThread[object]:
    given = {"call_timeout_ms": 10_000, "calls_waiting_max": 100, "group_calls_max": 100} | limits
    return DatabaseThread("test-thread", gate.execute, gate.close, **given)


async def entered(gate: Gate) -> None:
    assert await asyncio.to_thread(gate.entered.wait, 10)


async def test_calls_that_wait_are_carried_out_together_in_their_order() -> None:
    gate = Gate()
    thread = thread_of(gate)
    first = asyncio.ensure_future(thread.call("first"))
    await entered(gate)
    others = asyncio.gather(*(thread.call(number) for number in range(5)))
    await asyncio.sleep(0)
    gate.open.set()
    assert (await first, await others) == ("first", [0, 1, 2, 3, 4])
    assert gate.groups == [["first"], [0, 1, 2, 3, 4]]
    await thread.close()


async def test_groups_have_a_limit() -> None:
    gate = Gate()
    thread = thread_of(gate, group_calls_max=2)
    first = asyncio.ensure_future(thread.call("first"))
    await entered(gate)
    others = asyncio.gather(*(thread.call(number) for number in range(5)))
    await asyncio.sleep(0)
    gate.open.set()
    await asyncio.gather(first, others)
    assert list(map(len, gate.groups)) == [1, 2, 2, 1]
    await thread.close()


async def test_calls_beyond_the_limit_are_refused_at_once() -> None:
    gate = Gate()
    thread = thread_of(gate, calls_waiting_max=2)
    waiting = asyncio.gather(thread.call(1), thread.call(2))
    await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await thread.call(3)
    gate.open.set()
    assert list(await waiting) == [1, 2]
    assert await thread.call(4) == 4
    await thread.close()


async def test_caller_does_not_wait_longer_than_its_time() -> None:
    gate = Gate()
    thread = thread_of(gate, call_timeout_ms=1)
    with pytest.raises(Unavailable):
        await thread.call(1)
    gate.open.set()
    await thread.close()


async def test_work_of_a_caller_that_gave_up_is_not_begun() -> None:
    gate = Gate()
    thread = thread_of(gate)
    first = asyncio.ensure_future(thread.call("first"))
    await entered(gate)
    given_up = asyncio.ensure_future(thread.call("given up"))
    last = asyncio.ensure_future(thread.call("last"))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.sleep(0)
    gate.open.set()
    await asyncio.gather(first, last)
    assert gate.groups == [["first"], ["last"]]
    await thread.close()


async def test_bug_reaches_the_caller_and_the_thread_lives_on() -> None:
    gate = Gate()
    gate.open.set()
    thread = thread_of(gate)
    with pytest.raises(LookupError):
        await thread.call("bug")
    assert await thread.call(1) == 1
    await thread.close()


async def test_close_carries_out_what_waits_and_refuses_the_rest() -> None:
    gate = Gate()
    thread = thread_of(gate)
    waiting = asyncio.gather(*(thread.call(number) for number in range(3)))
    await asyncio.sleep(0)
    closing = asyncio.ensure_future(thread.close())
    await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await thread.call(4)
    gate.open.set()
    assert await waiting == [0, 1, 2]
    await closing
    assert gate.closed_in == "test-thread"
    await thread.close()

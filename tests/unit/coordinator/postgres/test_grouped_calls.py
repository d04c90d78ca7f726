"""Calls that are carried out together."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from inkless.coordinator.postgres.grouped_calls import GroupedCalls
from inkless.coordinator.postgres.settings import PostgresSettings
from inkless.errors import Unavailable


class Recorder:
    """Carries out numbers by turning them negative, when it is let."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()

    async def execute(self, works: Sequence[int]) -> Sequence[Any]:
        self.groups.append(list(works))
        await self.may_go_on.wait()
        return [ValueError(work) if work == 13 else -work for work in works]


def grouped(recorder: Recorder, **limits: Any) -> GroupedCalls[int]:
    return GroupedCalls("numbers", recorder.execute, replace(PostgresSettings(""), **limits))


async def test_calls_that_arrive_meanwhile_go_together_in_their_order() -> None:
    recorder = Recorder()
    calls = grouped(recorder, group_calls_max=3)
    recorder.may_go_on.clear()
    first = asyncio.create_task(calls.call(1))
    while not recorder.groups:
        await asyncio.sleep(0)
    others = [asyncio.create_task(calls.call(number)) for number in range(2, 7)]
    await asyncio.sleep(0)
    recorder.may_go_on.set()
    assert await asyncio.gather(first, *others) == [-1, -2, -3, -4, -5, -6]
    assert recorder.groups == [[1], [2, 3, 4], [5, 6]]
    await calls.close()


async def test_call_right_after_an_answer_is_carried_out() -> None:
    calls = grouped(Recorder())
    assert [await calls.call(number) for number in range(20, 70)] == [-number for number in range(20, 70)]
    await calls.close()


async def test_error_goes_to_its_caller_only() -> None:
    calls = grouped(Recorder())
    outcomes = await asyncio.gather(*map(calls.call, (1, 13, 2)), return_exceptions=True)
    assert (outcomes[0], type(outcomes[1]), outcomes[2]) == (-1, ValueError, -2)
    await calls.close()


async def test_caller_that_gave_up_is_passed_over() -> None:
    recorder = Recorder()
    calls = grouped(recorder)
    recorder.may_go_on.clear()
    tasks = [asyncio.create_task(calls.call(1))]
    while not recorder.groups:
        await asyncio.sleep(0)
    tasks += [asyncio.create_task(calls.call(number)) for number in (2, 3)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.sleep(0)
    recorder.may_go_on.set()
    assert (await tasks[0], await tasks[2]) == (-1, -3)
    assert recorder.groups == [[1], [3]]
    await calls.close()


async def test_too_many_waiting_calls_are_refused_at_once() -> None:
    recorder = Recorder()
    calls = grouped(recorder, calls_waiting_max=1)
    recorder.may_go_on.clear()
    tasks = [asyncio.create_task(calls.call(1))]
    while not recorder.groups:
        await asyncio.sleep(0)
    tasks.append(asyncio.create_task(calls.call(2)))
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="waiting"):
        await calls.call(3)
    recorder.may_go_on.set()
    assert await asyncio.gather(*tasks) == [-1, -2]
    await calls.close()


async def test_close_waits_for_what_was_begun() -> None:
    recorder = Recorder()
    calls = grouped(recorder)
    recorder.may_go_on.clear()
    begun = asyncio.create_task(calls.call(1))
    while not recorder.groups:
        await asyncio.sleep(0)
    closing = asyncio.create_task(calls.close())
    await asyncio.sleep(0)
    recorder.may_go_on.set()
    await closing
    assert await begun == -1


async def test_close_carries_out_what_waits_and_takes_nothing_more() -> None:
    calls = grouped(Recorder())
    waiting = [asyncio.create_task(calls.call(number)) for number in (1, 2)]
    await asyncio.sleep(0)
    await calls.close()
    assert await asyncio.gather(*waiting) == [-1, -2]
    with pytest.raises(Unavailable, match="closed"):
        await calls.call(3)

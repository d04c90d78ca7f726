"""Limits on connections, and the ends of those that are idle, stalled or in the way of stopping."""

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import pytest

from inkless.buffers import BufferPool
from inkless.server.connection import Connection, Dispatcher, Hold
from inkless.server.listener import Listeners
from inkless.settings import ServerSettings
from support.turned_clock import TurnedClock

SETTINGS = ServerSettings(connections_max=2, connection_idle_ms=60_000, shutdown_timeout_ms=5_000)


class ADispatcher:
    memory_is_short = False


class AConnection:
    """What listeners see of a connection."""

    def __init__(self, listeners: Listeners, clock: TurnedClock) -> None:
        self._listeners = listeners
        self.last_active_at = clock.monotonic()
        self.unanswered = 0
        self.is_starved = False
        self.stalled = False
        self.unread = False
        self.holds = Hold(0)
        self.refused_because = ""
        self.ended = ""
        self.closes_at_once = True

    def is_stalled(self, since: float) -> bool:
        return self.stalled and self.last_active_at < since

    def is_unread(self, since: float) -> bool:
        return self.unread and self.last_active_at < since

    def hold(self, reason: Hold) -> None:
        self.holds |= reason

    def refuse(self, why: str) -> None:
        self.refused_because = why
        self.abort()

    def abort(self) -> None:
        self.ended = "aborted"
        self._listeners.closed(self.as_connection())

    def close(self) -> None:
        self.ended = "closed"
        if self.closes_at_once:
            self._listeners.closed(self.as_connection())

    def as_connection(self) -> Connection:
        return cast(Connection, self)


class Door:
    def __init__(self) -> None:
        self.clock = TurnedClock()
        self.dispatcher = ADispatcher()
        self.listeners = Listeners(
            SETTINGS,
            dispatcher=cast(Dispatcher, self.dispatcher),
            pool=BufferPool(idle_bytes_max=0),
            clock=self.clock,
        )

    def come_in(self) -> AConnection:
        connection = AConnection(self.listeners, self.clock)
        assert self.listeners.opened(connection.as_connection())
        return connection


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    made = Door()
    await made.listeners.start([])
    yield made
    closing = asyncio.ensure_future(made.listeners.close())
    await made.clock.turn(2000)
    await closing


async def test_a_connection_too_many_is_refused_until_one_leaves(door: Door) -> None:
    first, _ = door.come_in(), door.come_in()
    late = AConnection(door.listeners, door.clock)
    assert not door.listeners.opened(late.as_connection())
    assert (door.listeners.counters.accepted, door.listeners.counters.refused) == (2, 1)
    door.listeners.closed(first.as_connection())
    assert door.listeners.opened(late.as_connection())
    assert len(door.listeners) == 2


async def test_an_idle_connection_is_closed_and_one_that_waits_for_an_answer_is_not(door: Door) -> None:
    idle, waiting = door.come_in(), door.come_in()
    waiting.unanswered = 1
    await door.clock.turn(50_000)
    assert idle.ended == ""
    await door.clock.turn(40_000)
    assert (idle.refused_because, waiting.ended) == ("idle", "")
    assert door.listeners.counters.idle_closed == 1


async def test_a_connection_in_use_is_not_idle(door: Door) -> None:
    used = door.come_in()
    for _ in range(5):
        await door.clock.turn(50_000)
        used.last_active_at = door.clock.monotonic()
    assert used.ended == ""


async def test_a_stalled_connection_is_closed_only_when_another_starves(door: Door) -> None:
    stalled, other = door.come_in(), door.come_in()
    stalled.stalled = True
    await door.clock.turn(20_000)
    assert stalled.ended == ""
    other.is_starved = True
    await door.clock.turn(2_000)
    assert stalled.ended == "aborted"
    assert other.ended == ""
    assert door.listeners.counters.stalled_closed == 1


async def test_an_unread_response_is_given_up_only_when_memory_is_short(door: Door) -> None:
    unread = door.come_in()
    unread.unread = True
    await door.clock.turn(20_000)
    assert unread.ended == ""
    door.dispatcher.memory_is_short = True
    await door.clock.turn(2_000)
    assert unread.ended == "aborted"


async def test_draining_waits_for_answers_and_reads_nothing_more(door: Door) -> None:
    busy = door.come_in()
    busy.unanswered = 1
    draining = asyncio.ensure_future(door.listeners.drain())
    await door.clock.turn(1000)
    assert busy.holds == Hold.STOPPING
    assert not draining.done()
    assert not door.listeners.opened(AConnection(door.listeners, door.clock).as_connection())
    busy.unanswered = 0
    await door.clock.turn(10)
    assert draining.done()


async def test_draining_does_not_wait_for_ever(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    door.come_in().unanswered = 1
    draining = asyncio.ensure_future(door.listeners.drain())
    await door.clock.turn(6_000)
    assert draining.done()
    assert "unanswered" in caplog.text


async def test_closing_waits_a_moment_for_what_is_unsent_and_then_cuts(door: Door) -> None:
    quick, slow = door.come_in(), door.come_in()
    slow.closes_at_once = False
    closing = asyncio.ensure_future(door.listeners.close())
    await door.clock.turn(500)
    assert (quick.ended, slow.ended, closing.done()) == ("closed", "closed", False)
    await door.clock.turn(1000)
    await closing
    assert slow.ended == "aborted"
    assert len(door.listeners) == 0

"""Fetches come into memory one after the other when it is full, and only then."""

import asyncio

from inkless.buffers import BufferPool
from inkless.fetch.room import ReadRoom
from support.turned_clock import TurnedClock

KIB = 1024


def _room(pool: BufferPool, clock: TurnedClock) -> ReadRoom:
    return ReadRoom(pool, bytes_max=256 * KIB, clock=clock)


async def test_room_is_taken_at_once_while_there_is_some() -> None:
    room = _room(BufferPool(idle_bytes_max=0), TurnedClock())
    assert await room.take(300 * KIB, wait_s=0)
    assert room.bytes_left < 0
    assert not room.is_short


async def test_what_is_reserved_is_not_given_twice() -> None:
    room = _room(BufferPool(idle_bytes_max=0), TurnedClock())
    assert await room.take(256 * KIB, wait_s=0)
    assert not await room.take(1, wait_s=0)
    room.give_back(256 * KIB)
    assert await room.take(1, wait_s=0)


async def test_a_lease_keeps_its_room_until_the_last_view_is_gone() -> None:
    pool = BufferPool(idle_bytes_max=0)
    room = _room(pool, TurnedClock())
    lease = pool.lease(256 * KIB)
    view = lease[:1]
    del lease
    assert not await room.take(1, wait_s=0)
    del view
    assert await room.take(1, wait_s=0)


async def test_who_waits_is_let_in_when_memory_comes_back() -> None:
    clock = TurnedClock()
    room = _room(BufferPool(idle_bytes_max=0), clock)
    assert await room.take(256 * KIB, wait_s=0)
    waiting = asyncio.ensure_future(room.take(1, wait_s=10))
    await clock.turn(1000)
    assert not waiting.done()
    assert room.is_short
    room.give_back(256 * KIB)
    await clock.turn(1000)
    assert await waiting
    assert not room.is_short


async def test_who_waits_too_long_is_sent_away() -> None:
    clock = TurnedClock()
    room = _room(BufferPool(idle_bytes_max=0), clock)
    assert await room.take(256 * KIB, wait_s=0)
    waiting = asyncio.ensure_future(room.take(1, wait_s=10))
    await clock.turn(11_000)
    assert not await waiting
    assert not room.is_short
    assert room.bytes_left == 0

"""The cache stays within its bytes, keeps writers and readers apart, and reads each object once."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkless.buffers import size_class
from inkless.fetch.cache import CachedObject, ObjectCache

UNIT = 64 * 1024


def entry(units: int = 1) -> CachedObject:
    return CachedObject(memoryview(bytearray(units * UNIT)))


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6), st.booleans()), max_size=100))
def test_bytes_never_exceed_the_limit(steps: list[tuple[int, int, bool]]) -> None:
    cache = ObjectCache(bytes_max=16 * UNIT, written_share=0.7)
    for key, units, also_get in steps:
        cache.put_written(str(key), entry(units))
        if also_get:
            cache.get(str(key))
        assert cache.bytes_used <= 16 * UNIT


def test_an_object_that_was_used_outlives_one_that_was_not() -> None:
    cache = ObjectCache(bytes_max=4 * UNIT, written_share=1.0)
    for key in "abcd":
        cache.put_written(key, entry())
    cache.get("a")
    cache.put_written("e", entry())
    assert cache.get("a") is not None
    assert cache.get("b") is None


async def test_what_is_read_in_does_not_push_out_the_tail_that_others_read() -> None:
    cache = ObjectCache(bytes_max=4 * UNIT, written_share=0.5)
    for key in ("tail", "tail too"):
        cache.put_written(key, entry())
        cache.get(key)
    for key in range(20):
        await cache.load(str(key), read_units)
    assert cache.get("tail") is not None
    assert cache.get("tail too") is not None


async def test_what_is_read_in_takes_the_place_of_what_nobody_asked_for() -> None:
    cache = ObjectCache(bytes_max=4 * UNIT, written_share=0.5)
    for key in "abcd":
        cache.put_written(key, entry())
    for number in range(4):
        await cache.load(str(number), read_units)
    assert all(cache.get(str(number)) is not None for number in range(4))


async def test_what_is_written_takes_back_the_share_of_the_written() -> None:
    cache = ObjectCache(bytes_max=4 * UNIT, written_share=0.5)
    for number in range(4):
        await cache.load(str(number), read_units)
    for key in "ab":
        cache.put_written(key, entry())
    assert all(cache.get(key) is not None for key in "ab23")
    cache.put_written("c", entry())
    assert all(cache.get(key) is not None for key in "23")


async def read_units() -> CachedObject:
    return entry()


async def test_an_object_is_read_once_for_all_who_ask() -> None:
    cache = ObjectCache(bytes_max=4 * UNIT, written_share=0.5)
    reads = 0
    release = asyncio.Event()

    async def read() -> CachedObject:
        nonlocal reads
        reads += 1
        await release.wait()
        return entry()

    waiting = [asyncio.ensure_future(cache.load("key", read)) for _ in range(10)]
    await asyncio.sleep(0)
    release.set()
    entries = await asyncio.gather(*waiting)
    assert reads == 1
    assert all(found is entries[0] for found in entries)


async def test_a_failed_read_reaches_everybody_and_is_not_remembered() -> None:
    cache = ObjectCache(bytes_max=4 * UNIT, written_share=0.5)
    release = asyncio.Event()

    async def fail() -> CachedObject:
        await release.wait()
        raise OSError("no")

    waiting = [asyncio.ensure_future(cache.load("key", fail)) for _ in range(3)]
    await asyncio.sleep(0)
    release.set()
    assert all(isinstance(each, OSError) for each in await asyncio.gather(*waiting, return_exceptions=True))
    assert len((await cache.load("key", read_units)).content) == UNIT


async def test_the_reader_s_cancellation_does_not_leave_the_others_waiting() -> None:
    cache = ObjectCache(bytes_max=4 * UNIT, written_share=0.5)
    started = asyncio.Event()

    async def hang() -> CachedObject:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    reader = asyncio.ensure_future(cache.load("key", hang))
    await started.wait()
    waiter = asyncio.ensure_future(cache.load("key", hang))
    await asyncio.sleep(0)
    reader.cancel()
    with pytest.raises(ConnectionAbortedError):
        await waiter


def test_an_object_larger_than_the_cache_is_not_kept() -> None:
    cache = ObjectCache(bytes_max=2 * UNIT, written_share=1.0)
    cache.put_written("large", entry(3))
    assert cache.get("large") is None
    assert cache.bytes_used == 0
    assert size_class(3 * UNIT) > 2 * UNIT

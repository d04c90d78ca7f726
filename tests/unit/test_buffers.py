"""Leases end by themselves, and only when nobody looks at the bytes any more."""

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkless.buffers import BufferPool, capacity_of, size_class


@given(st.integers(1, 1 << 30))
def test_a_size_class_fits_and_wastes_at_most_a_quarter(byte_length: int) -> None:
    capacity = size_class(byte_length)
    assert capacity >= byte_length
    assert capacity <= 64 * 1024 or capacity * 3 <= byte_length * 4 + 4
    assert size_class(capacity) == capacity


def test_a_lease_ends_with_its_last_view() -> None:
    pool = BufferPool(idle_bytes_max=1 << 20)
    lease = pool.lease(100_000)
    part = lease[10:20]
    del lease
    assert pool.leased_bytes == size_class(100_000)
    del part
    assert pool.leased_bytes == 0
    assert pool.idle_bytes == size_class(100_000)


def test_bytes_still_viewed_are_not_handed_out_again() -> None:
    pool = BufferPool(idle_bytes_max=1 << 20)
    first = pool.lease(70_000)
    first[:5] = b"first"
    second = pool.lease(70_000)
    second[:5] = b"other"
    assert bytes(first[:5]) == b"first"


def test_an_ended_lease_is_reused() -> None:
    pool = BufferPool(idle_bytes_max=1 << 20)
    lease = pool.lease(70_000)
    lease[0] = 42
    del lease
    assert pool.lease(70_000)[0] == 42


def test_an_idle_buffer_serves_up_to_half_its_capacity() -> None:
    pool = BufferPool(idle_bytes_max=1 << 24)
    lease = pool.lease(1 << 20)
    lease[0] = 42
    del lease
    fits = pool.lease(600_000)
    assert fits[0] == 42
    assert capacity_of(fits) == pool.leased_bytes == 1 << 20
    del fits
    assert pool.lease(400_000)[0] == 0


def test_what_has_been_idle_longest_goes_first() -> None:
    pool = BufferPool(idle_bytes_max=3 << 20)
    small, large, last = pool.lease(1 << 20), pool.lease(2 << 20), pool.lease(1 << 20)
    small[0] = last[0] = 1
    large[0] = 2
    del small
    del large
    del last
    assert pool.idle_bytes == 3 << 20
    assert pool.lease(2 << 20)[0] == 2
    assert pool.lease(1 << 20)[0] == 1


def test_no_more_is_kept_idle_than_allowed() -> None:
    pool = BufferPool(idle_bytes_max=64 * 1024)
    leases = [pool.lease(1) for _ in range(4)]
    leases.clear()
    gc.collect()
    assert pool.idle_bytes == 64 * 1024


def test_every_return_wakes_the_one_who_has_waited_longest() -> None:
    pool = BufferPool(idle_bytes_max=0)
    woken: list[str] = []
    leases = [pool.lease(1), pool.lease(1)]
    pool.when_returned(lambda: woken.append("a"))
    pool.when_returned(lambda: woken.append("b"))
    leases.pop()
    assert woken == ["a"]
    pool.wake_next()
    assert woken == ["a", "b"]
    pool.wake_next()
    leases.clear()
    assert woken == ["a", "b"]


@pytest.mark.parametrize("byte_length", [1, 65_536, 65_537, 8 << 20])
def test_a_lease_is_writable_and_has_exactly_the_length_asked_for(byte_length: int) -> None:
    lease = BufferPool(idle_bytes_max=0).lease(byte_length)
    assert len(lease) == byte_length
    lease[-1] = 7
    assert lease[-1] == 7

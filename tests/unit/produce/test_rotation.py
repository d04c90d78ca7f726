"""When an object is closed: quickly when idle, rarely when busy, never later than the interval."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkless.produce.rotation import PutAllowance, due_in_s
from inkless.settings import ProduceSettings

SETTINGS = ProduceSettings(settle_ms=2, linger_ms=5, commit_interval_ms=250, uploads_max=4)


def due(*, now: float, first: float = 0.0, last: float = 0.0, running: int = 0) -> float:
    return due_in_s(SETTINGS, now=now, first_append_at=first, last_append_at=last, uploads_running=running)


def test_silence_closes_the_object() -> None:
    assert due(now=0.0, running=1) == pytest.approx(0.002)
    assert due(now=0.002, running=1) <= 0


def test_a_steady_stream_is_cut_by_the_linger_when_nothing_is_uploading() -> None:
    assert due(now=0.004, last=0.004) == pytest.approx(0.001)


def test_a_steady_stream_waits_for_running_uploads() -> None:
    assert due(now=0.1, last=0.0999, running=1) > 0


def test_without_a_free_upload_only_the_interval_closes_the_object() -> None:
    assert due(now=0.1, last=0.0, running=4) == pytest.approx(0.150)


@given(last=st.floats(0, 10), running=st.integers(0, 10))
def test_the_interval_bounds_every_wait(last: float, running: int) -> None:
    assert due(now=0.25, last=last, running=running) <= 0


def test_an_unlimited_allowance_never_waits() -> None:
    allowance = PutAllowance(0)
    for _ in range(1000):
        allowance.take()
    assert allowance.wait_s(0.0) == 0


@given(st.floats(0.1, 100), st.lists(st.floats(0, 0.5), min_size=1, max_size=200))
def test_no_more_puts_than_the_rate_and_one_burst(rate: float, gaps: list[float]) -> None:
    allowance = PutAllowance(rate)
    now = 1000.0
    taken = 0
    for gap in gaps:
        now += gap
        if allowance.wait_s(now) == 0:
            allowance.take()
            taken += 1
    assert taken <= max(1.0, rate) + (now - 1000.0) * rate + 1


def test_the_wait_for_a_token_is_long_enough_and_no_longer() -> None:
    allowance = PutAllowance(4)
    for _ in range(4):
        assert allowance.wait_s(100.0) == 0
        allowance.take()
    wait_s = allowance.wait_s(100.0)
    assert wait_s == pytest.approx(0.25)
    assert allowance.wait_s(100.0 + wait_s + 1e-9) == 0

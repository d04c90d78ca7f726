"""When an object is closed: quickly when idle, rarely when busy, never later than the interval."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkless.produce.rotation import PutAllowance, Situation, due_in_s
from inkless.settings import ProduceSettings

SETTINGS = ProduceSettings(settle_ms=2, linger_ms=5, commit_interval_ms=250, uploads_max=4)


IDLE = Situation(
    now=0.0,
    first_append_at=0.0,
    last_append_at=0.0,
    uploads_running=0,
    objects_unsettled=0,
    answered_at=0.0,
    upload_s=0.0,
    puts_plentiful=True,
)


def due(**changes: Any) -> float:
    return due_in_s(SETTINGS, IDLE._replace(**changes))


def test_silence_closes_the_object() -> None:
    assert due(now=0.0, uploads_running=1) == pytest.approx(0.002)
    assert due(now=0.002, uploads_running=1) <= 0


def test_a_steady_stream_is_cut_by_the_linger_when_nothing_is_uploading() -> None:
    assert due(now=0.004, last_append_at=0.004) == pytest.approx(0.001)


def test_a_steady_stream_waits_for_running_uploads() -> None:
    assert due(now=0.1, last_append_at=0.0999, uploads_running=1) > 0


def test_patience_grows_with_what_an_upload_takes() -> None:
    assert due(now=0.0, uploads_running=1, upload_s=0.08) == pytest.approx(0.005)
    assert due(now=0.0, last_append_at=0.1, upload_s=0.08) == pytest.approx(0.02)


def test_with_few_puts_left_nothing_is_closed_while_an_object_is_on_its_way() -> None:
    assert due(now=0.1, objects_unsettled=1, puts_plentiful=False) == pytest.approx(0.150)
    assert due(now=0.1, objects_unsettled=0, puts_plentiful=False) <= 0


def test_with_few_puts_left_those_just_answered_are_waited_for() -> None:
    assert due(now=0.1, answered_at=0.1, puts_plentiful=False) == pytest.approx(0.002)
    assert due(now=0.1, answered_at=0.1, last_append_at=0.1045, puts_plentiful=False) == pytest.approx(0.005)


def test_puts_are_plentiful_until_half_are_used_and_again_when_nearly_all_are_back() -> None:
    allowance = PutAllowance(10)
    allowance.wait_s(100.0)
    for _ in range(5):
        allowance.take()
        assert allowance.is_plentiful
    allowance.take()
    assert not allowance.is_plentiful
    allowance.wait_s(100.4)
    assert not allowance.is_plentiful
    allowance.wait_s(100.51)
    assert allowance.is_plentiful


def test_without_a_free_upload_only_the_interval_closes_the_object() -> None:
    assert due(now=0.1, last_append_at=0.0, uploads_running=4) == pytest.approx(0.150)


@given(last=st.floats(0, 10), running=st.integers(0, 10), upload_s=st.floats(0, 60))
def test_the_interval_bounds_every_wait(last: float, running: int, upload_s: float) -> None:
    assert due(now=0.25, last_append_at=last, uploads_running=running, upload_s=upload_s) <= 0


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

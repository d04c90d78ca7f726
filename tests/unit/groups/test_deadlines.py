"""Deadlines that are moved, cleared and due."""

from inkless.groups.deadlines import Deadline, Deadlines, Wait

FIRST = Deadline(Wait.HEARTBEAT, "first")
SECOND = Deadline(Wait.HEARTBEAT, "second")


def test_nothing_is_due_without_deadlines() -> None:
    deadlines = Deadlines()
    assert deadlines.wake_at() is None
    assert list(deadlines.due(1 << 40)) == []


def test_deadlines_are_due_in_the_order_of_their_times() -> None:
    deadlines = Deadlines()
    deadlines.set(SECOND, 20)
    deadlines.set(FIRST, 10)
    assert deadlines.wake_at() == 10
    assert list(deadlines.due(9)) == []
    assert list(deadlines.due(20)) == [FIRST, SECOND]
    assert deadlines.wake_at() is None


def test_moved_deadline_is_due_at_its_new_time_only() -> None:
    deadlines = Deadlines()
    deadlines.set(FIRST, 10)
    deadlines.set(FIRST, 30)
    assert list(deadlines.due(29)) == []
    assert list(deadlines.due(30)) == [FIRST]
    assert list(deadlines.due(100)) == []


def test_deadline_can_move_to_an_earlier_time() -> None:
    deadlines = Deadlines()
    deadlines.set(FIRST, 30)
    deadlines.set(FIRST, 10)
    assert deadlines.wake_at() == 10
    assert list(deadlines.due(10)) == [FIRST]
    assert list(deadlines.due(100)) == []


def test_cleared_deadline_never_comes() -> None:
    deadlines = Deadlines()
    deadlines.set(FIRST, 10)
    deadlines.clear(FIRST)
    deadlines.clear(SECOND)
    assert deadlines.wake_at() is None
    assert list(deadlines.due(100)) == []


def test_cleared_deadline_can_be_set_again() -> None:
    deadlines = Deadlines()
    deadlines.set(FIRST, 10)
    deadlines.clear(FIRST)
    deadlines.set(FIRST, 20)
    assert list(deadlines.due(19)) == []
    assert list(deadlines.due(20)) == [FIRST]


def test_deadline_set_while_others_are_due_is_seen() -> None:
    deadlines = Deadlines()
    deadlines.set(FIRST, 10)
    seen = []
    for deadline in deadlines.due(50):
        seen.append(deadline)
        if deadline is FIRST:
            deadlines.set(SECOND, 40)
    assert seen == [FIRST, SECOND]


def test_moving_a_deadline_again_and_again_takes_no_memory() -> None:
    deadlines = Deadlines()
    for at_ms in range(10_000):
        deadlines.set(FIRST, at_ms)
        assert list(deadlines.due(at_ms - 1)) == []
    assert len(deadlines._heap) == 1

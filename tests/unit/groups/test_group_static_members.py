"""Static members, who keep their place over a restart (KIP-345)."""

import pytest

from inkless.groups.events import MemberIdentity
from inkless.groups.limits import GroupLimits
from inkless.groups.phases import Phase
from inkless.protocol.error_codes import ErrorCode
from support.group_driver import DELAY_MS, REBALANCE_MS, SESSION_MS, GroupDriver, offers


def static_pair() -> GroupDriver:
    driver = GroupDriver()
    driver.form("a", "b", instances=["one", "two"])
    return driver


def test_restarted_follower_takes_its_place_without_a_rebalance() -> None:
    driver = static_pair()
    answer = driver.joined(driver.newcomer("b2", instance_id="two"))
    assert (answer.error, answer.generation, answer.member_id) == (ErrorCode.NONE, 1, "b2")
    assert (answer.leader_id, answer.members) == ("a", ())
    assert driver.group.phase is Phase.STABLE
    assert driver.synced(driver.sync("b2", instance_id="two")).assignment == b"for b"


def test_restarted_leader_of_an_old_client_is_not_told_that_it_leads() -> None:
    driver = static_pair()
    answer = driver.joined(driver.newcomer("a2", instance_id="one"))
    assert (answer.member_id, answer.leader_id, answer.members) == ("a2", "a", ())
    assert driver.group.leader_id == "a2"
    assert driver.group.phase is Phase.STABLE


def test_restarted_leader_is_told_to_leave_the_assignment_as_it_is() -> None:
    driver = static_pair()
    answer = driver.joined(driver.newcomer("a2", instance_id="one", can_skip_assignment=True))
    assert (answer.leader_id, answer.skip_assignment) == ("a2", True)
    assert [each.member_id for each in answer.members] == ["a2", "b"]


def test_restarted_follower_has_nothing_to_skip() -> None:
    driver = static_pair()
    answer = driver.joined(driver.newcomer("b2", instance_id="two", can_skip_assignment=True))
    assert (answer.leader_id, answer.skip_assignment, answer.members) == ("a", False, ())


def test_static_newcomer_needs_no_second_round_for_its_id() -> None:
    driver = GroupDriver()
    ticket = driver.newcomer("a", instance_id="one", needs_known_id=True)
    driver.pass_time(DELAY_MS)
    assert driver.joined(ticket).generation == 1


def test_change_of_protocol_makes_a_restarted_member_rebalance() -> None:
    driver = GroupDriver()
    driver.newcomer("a", instance_id="one", protocols=offers("range", "sticky"))
    driver.pass_time(DELAY_MS)
    driver.complete("a")
    ticket = driver.newcomer("a2", instance_id="one", protocols=offers("sticky", "range"))
    assert driver.joined(ticket).generation == 2
    assert driver.joined(ticket).protocol_name == "sticky"


@pytest.mark.parametrize("event", ["join", "sync", "heartbeat", "commit", "leave"])
def test_predecessor_is_fenced(event: str) -> None:
    driver = static_pair()
    driver.newcomer("b2", instance_id="two")
    codes = {
        "join": lambda: driver.code(driver.join("b", instance_id="two")),
        "sync": lambda: driver.code(driver.sync("b", instance_id="two")),
        "heartbeat": lambda: driver.heartbeat("b", instance_id="two"),
        "commit": lambda: driver.check_commit("b", instance_id="two"),
        "leave": lambda: driver.leave(MemberIdentity("b", "two"))[0],
    }
    assert codes[event]() is ErrorCode.FENCED_INSTANCE_ID
    assert driver.group.phase is Phase.STABLE


def test_parked_join_of_the_predecessor_is_fenced() -> None:
    driver = static_pair()
    driver.newcomer("c")
    parked = driver.join("b", instance_id="two")
    successor = driver.newcomer("b2", instance_id="two")
    assert driver.code(parked) is ErrorCode.FENCED_INSTANCE_ID
    driver.join("a", instance_id="one")
    assert driver.joined(successor).generation == 2


def test_parked_sync_of_the_predecessor_is_fenced() -> None:
    driver = GroupDriver()
    driver.newcomer("a", instance_id="one")
    driver.newcomer("b", instance_id="two")
    driver.pass_time(2 * DELAY_MS)
    parked = driver.sync("b", instance_id="two")
    driver.newcomer("b2", instance_id="two")
    assert driver.code(parked) is ErrorCode.FENCED_INSTANCE_ID
    assert driver.group.phase is Phase.PREPARING


def test_static_member_that_is_away_keeps_its_place_in_a_rebalance() -> None:
    driver = static_pair()
    # The leader's session is long, so that only the end of the joins can take its place from it.
    long_session = {"session_timeout_ms": 10 * REBALANCE_MS}
    driver.newcomer("a2", instance_id="one", **long_session)  # type: ignore[arg-type]  # one field
    ticket = driver.newcomer("c")
    driver.join("b", instance_id="two")
    driver.pass_time(REBALANCE_MS)
    answer = driver.joined(ticket)
    assert (answer.generation, answer.leader_id) == (2, "b")
    assert [member.member_id for member in driver.group.members] == ["a2", "b", "c"]


def test_rebalance_in_which_nobody_joins_waits_for_the_sessions_to_run_out() -> None:
    driver = GroupDriver()
    long_session = {"session_timeout_ms": 3 * REBALANCE_MS}
    driver.newcomer("a", instance_id="one", **long_session)  # type: ignore[arg-type]  # one field
    driver.newcomer("b")
    driver.pass_time(2 * DELAY_MS)
    driver.complete("a", "b")
    driver.leave(MemberIdentity("b"))
    driver.pass_time(2 * REBALANCE_MS)
    assert not driver.group.is_idle
    driver.pass_time(REBALANCE_MS)
    assert driver.group.phase is Phase.EMPTY


def test_silent_static_member_is_removed_after_its_session() -> None:
    driver = static_pair()
    driver.pass_time(SESSION_MS // 2)
    driver.heartbeat("a", instance_id="one")
    driver.pass_time(SESSION_MS // 2)
    assert [member.member_id for member in driver.group.members] == ["a"]
    assert driver.code(driver.join("b", instance_id="two")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_static_member_can_be_removed_by_its_instance_id() -> None:
    driver = static_pair()
    assert driver.leave(MemberIdentity("", "two")) == [ErrorCode.NONE]
    assert [member.member_id for member in driver.group.members] == ["a"]


def test_restarted_member_of_a_full_group_finds_its_place() -> None:
    driver = GroupDriver(GroupLimits(initial_rebalance_delay_ms=DELAY_MS, members_max=2))
    driver.form("a", "b", instances=["one", "two"])
    assert driver.joined(driver.newcomer("b2", instance_id="two")).generation == 1

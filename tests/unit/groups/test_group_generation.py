"""A generation: assignments, heartbeats, departures and who may commit."""

import pytest

from inkless.groups.events import MemberIdentity
from inkless.groups.limits import GroupLimits
from inkless.groups.phases import Phase
from inkless.protocol.error_codes import ErrorCode
from support.group_driver import DELAY_MS, REBALANCE_MS, SESSION_MS, GroupDriver


def completing(*member_ids: str) -> GroupDriver:
    driver = GroupDriver()
    for member_id in member_ids:
        driver.newcomer(member_id)
    driver.pass_time(2 * DELAY_MS)
    return driver


def test_assignments_are_given_out_when_the_leader_brings_them() -> None:
    driver = completing("a", "b", "c")
    follower = driver.sync("b")
    assert driver.is_parked(follower)
    leader = driver.sync("a", {"a": b"0", "b": b"1", "stranger": b"2"})
    assert driver.synced(leader).assignment == b"0"
    assert driver.synced(follower).assignment == b"1"
    assert (driver.synced(follower).protocol_type, driver.synced(follower).protocol_name) == (
        "consumer",
        "range",
    )
    assert driver.group.phase is Phase.STABLE
    late = driver.sync("c")
    assert (driver.code(late), driver.synced(late).assignment) == (ErrorCode.NONE, b"")


def test_follower_brings_no_assignments() -> None:
    driver = completing("a", "b")
    driver.sync("b", {"b": b"all"})
    assert driver.group.phase is Phase.COMPLETING


def test_lost_assignment_is_given_again() -> None:
    driver = GroupDriver()
    driver.form("a", "b")
    assert driver.synced(driver.sync("b")).assignment == b"for b"


def test_rebalance_sends_those_who_wait_for_assignments_back_to_join() -> None:
    driver = completing("a", "b")
    waiting = driver.sync("b")
    driver.newcomer("c")
    assert driver.code(waiting) is ErrorCode.REBALANCE_IN_PROGRESS


def test_assignments_of_the_generation_before_are_not_given_again() -> None:
    driver = GroupDriver()
    driver.form("a", "b")
    driver.join("a")
    driver.join("b")
    assert [member.assignment for member in driver.group.members] == [b"", b""]


@pytest.mark.parametrize(
    ("sync", "code"),
    [
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "a", "generation": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "a", "generation": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "a", "protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "a", "protocol_name": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "a", "protocol_type": "consumer", "protocol_name": "range"}, ErrorCode.NONE),
    ],
)
def test_assignments_are_for_members_of_the_generation(sync: dict[str, object], code: ErrorCode) -> None:
    driver = completing("a")
    assert driver.code(driver.sync(**sync)) is code  # type: ignore[arg-type]  # rows of a table


def test_nobody_gets_an_assignment_while_joins_are_collected() -> None:
    driver = GroupDriver()
    driver.form("a")
    driver.newcomer("b")
    assert driver.code(driver.sync("a")) is ErrorCode.REBALANCE_IN_PROGRESS


def test_assignments_are_bounded() -> None:
    limits = GroupLimits(initial_rebalance_delay_ms=0, member_bytes_max=50, group_bytes_max=80)
    driver = GroupDriver(limits)
    driver.newcomer("a")
    driver.pass_time(0)
    assert driver.code(driver.sync("a", {"a": bytes(51)})) is ErrorCode.INVALID_REQUEST
    assert driver.code(driver.sync("a", {"a": bytes(35), "b": bytes(35)})) is ErrorCode.INVALID_REQUEST
    assert driver.code(driver.sync("a", {"a": bytes(50)})) is ErrorCode.NONE


def test_leader_that_never_assigns_is_removed() -> None:
    driver = completing("a", "b")
    for _ in range(REBALANCE_MS // SESSION_MS + 1):
        driver.heartbeat("a", generation=1)
        driver.heartbeat("b", generation=1)
        driver.pass_time(SESSION_MS - 1)
    assert driver.heartbeat("a", generation=1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_member_that_never_asks_for_its_assignment_is_removed() -> None:
    driver = completing("a", "b")
    driver.sync("a", {"a": b"0", "b": b"1"})
    for _ in range(REBALANCE_MS // SESSION_MS + 1):
        driver.heartbeat("a", generation=1)
        driver.heartbeat("b", generation=1)
        driver.pass_time(SESSION_MS - 1)
    assert [member.member_id for member in driver.group.members] == ["a"]
    assert driver.group.phase is Phase.PREPARING


def test_member_stays_for_as_long_as_it_sends_heartbeats() -> None:
    driver = GroupDriver()
    driver.form("a")
    for _ in range(100):
        driver.pass_time(SESSION_MS - 1)
        assert driver.heartbeat("a") is ErrorCode.NONE
    assert driver.group.phase is Phase.STABLE


def test_silent_member_is_removed_and_the_others_rebalance() -> None:
    driver = GroupDriver()
    driver.form("a", "b")
    driver.pass_time(SESSION_MS // 2)
    driver.heartbeat("b")
    driver.pass_time(SESSION_MS // 2)
    assert driver.heartbeat("b") is ErrorCode.REBALANCE_IN_PROGRESS
    rejoined = driver.join("b")
    assert (driver.joined(rejoined).generation, driver.joined(rejoined).leader_id) == (2, "b")


def test_group_whose_last_member_went_is_empty() -> None:
    driver = GroupDriver()
    driver.form("a")
    driver.pass_time(SESSION_MS)
    assert driver.group.phase is Phase.EMPTY
    assert driver.group.generation == 2
    assert driver.group.wake_at() is None


def test_waiting_member_needs_no_heartbeats() -> None:
    driver = GroupDriver()
    driver.form("a", "b")
    parked = driver.join("a")
    for _ in range(4):
        driver.pass_time(SESSION_MS - 1)
        driver.heartbeat("b")
    assert driver.is_parked(parked)
    driver.join("b")
    waits_for_assignment = driver.sync("b")
    for _ in range(4):
        driver.pass_time(SESSION_MS - 1)
        driver.heartbeat("a")
    assert driver.is_parked(waits_for_assignment)


@pytest.mark.parametrize(
    ("heartbeat", "code"),
    [
        ({"member_id": "a"}, ErrorCode.NONE),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "a", "generation": 7}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "a", "instance_id": "one"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_heartbeats_are_for_members_of_the_generation(heartbeat: dict[str, object], code: ErrorCode) -> None:
    driver = GroupDriver()
    driver.form("a")
    assert driver.heartbeat(**heartbeat) is code  # type: ignore[arg-type]  # rows of a table


def test_members_leave_together_in_one_rebalance() -> None:
    driver = GroupDriver()
    driver.form("a", "b", "c")
    codes = driver.leave(MemberIdentity("a"), MemberIdentity("stranger"), MemberIdentity("b"))
    assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]
    rejoined = driver.join("c")
    assert driver.joined(rejoined).generation == 2


def test_departure_of_the_last_one_awaited_ends_the_wait() -> None:
    driver = GroupDriver()
    driver.form("a", "b")
    parked = driver.join("a")
    driver.leave(MemberIdentity("b"))
    assert driver.joined(parked).generation == 2


def test_leaving_member_gets_its_parked_answer() -> None:
    driver = GroupDriver()
    driver.form("a", "b")
    parked = driver.join("a")
    driver.leave(MemberIdentity("a"))
    assert driver.code(parked) is ErrorCode.UNKNOWN_MEMBER_ID


def test_strangers_leaving_disturb_nobody() -> None:
    driver = GroupDriver()
    driver.form("a")
    assert driver.leave(MemberIdentity("stranger"), MemberIdentity("", "nowhere")) == [
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert driver.group.phase is Phase.STABLE


@pytest.mark.parametrize(
    ("commit", "code"),
    [
        ({"member_id": "a"}, ErrorCode.NONE),
        ({"member_id": "a", "generation": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "a", "generation": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "a", "generation": -1}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "", "generation": -1}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "", "generation": 1}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_only_members_of_the_generation_commit(commit: dict[str, object], code: ErrorCode) -> None:
    driver = GroupDriver()
    driver.form("a")
    assert driver.check_commit(**commit) is code  # type: ignore[arg-type]  # rows of a table


def test_members_may_commit_until_the_next_generation_begins() -> None:
    driver = GroupDriver()
    driver.form("a", "b")
    driver.join("a")
    assert driver.check_commit("b") is ErrorCode.NONE
    driver.join("b")
    assert driver.check_commit("b", generation=1) is ErrorCode.ILLEGAL_GENERATION
    assert driver.check_commit("b") is ErrorCode.REBALANCE_IN_PROGRESS
    driver.complete("a", "b")
    assert driver.check_commit("b") is ErrorCode.NONE


@pytest.mark.parametrize("member_id", ["", "anybody"])
def test_anybody_commits_to_a_group_without_members(member_id: str) -> None:
    assert GroupDriver().check_commit(member_id, generation=-1) is ErrorCode.NONE


def test_former_member_does_not_commit_to_an_empty_group() -> None:
    driver = GroupDriver()
    driver.form("a")
    driver.leave(MemberIdentity("a"))
    assert driver.check_commit("a", generation=1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_commit_is_a_sign_of_life() -> None:
    driver = GroupDriver()
    driver.form("a")
    for _ in range(3):
        driver.pass_time(SESSION_MS - 1)
        assert driver.check_commit("a") is ErrorCode.NONE
    assert driver.group.phase is Phase.STABLE

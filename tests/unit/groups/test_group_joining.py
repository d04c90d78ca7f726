"""Joining a group: the first rebalance, later ones, and who is refused."""

import pytest

from inkless.groups.effects import GenerationBegun
from inkless.groups.events import MemberIdentity
from inkless.groups.limits import GroupLimits
from inkless.groups.phases import Phase
from inkless.protocol.error_codes import ErrorCode
from support.group_driver import DELAY_MS, REBALANCE_MS, SESSION_MS, GroupDriver, offers


def test_first_rebalance_waits_for_further_members() -> None:
    driver = GroupDriver()
    first = driver.newcomer("a")
    driver.pass_time(DELAY_MS // 2)
    second = driver.newcomer("b")
    driver.pass_time(DELAY_MS // 2)
    assert driver.is_parked(first)
    driver.pass_time(DELAY_MS)
    assert driver.joined(first).generation == driver.joined(second).generation == 1
    assert driver.group.phase is Phase.COMPLETING


def test_first_rebalance_ends_after_one_delay_when_nobody_else_comes() -> None:
    driver = GroupDriver()
    ticket = driver.newcomer("a")
    driver.pass_time(DELAY_MS - 1)
    assert driver.is_parked(ticket)
    driver.pass_time(1)
    assert driver.joined(ticket).generation == 1


def test_first_rebalance_is_not_put_off_beyond_the_rebalance_timeout() -> None:
    driver = GroupDriver()
    first = driver.newcomer("0", rebalance_timeout_ms=4 * DELAY_MS)
    for number in range(1, 8):
        driver.pass_time(DELAY_MS // 2)
        driver.newcomer(str(number), rebalance_timeout_ms=4 * DELAY_MS)
    assert driver.is_parked(first)
    driver.pass_time(DELAY_MS // 2)
    assert len(driver.joined(first).members) == 8


def test_only_the_leader_is_told_who_else_is_there() -> None:
    driver = GroupDriver()
    leader = driver.newcomer("a", protocols=offers("range", metadata=b"of a"))
    follower = driver.newcomer("b", protocols=offers("range", metadata=b"of b"))
    driver.pass_time(2 * DELAY_MS)
    seen = driver.joined(leader)
    assert (seen.leader_id, seen.member_id, seen.protocol_type, seen.protocol_name) == (
        "a",
        "a",
        "consumer",
        "range",
    )
    assert [(each.member_id, each.metadata) for each in seen.members] == [("a", b"of a"), ("b", b"of b")]
    assert driver.joined(follower).leader_id == "a"
    assert driver.joined(follower).members == ()


def test_generations_count_on_from_the_recorded_one() -> None:
    driver = GroupDriver(generation=41)
    ticket = driver.newcomer("a")
    driver.pass_time(DELAY_MS)
    assert driver.joined(ticket).generation == 42
    assert driver.generations == [GenerationBegun(42, "consumer")]


def test_newcomer_is_sent_away_with_an_id_first() -> None:
    driver = GroupDriver()
    sent_away = driver.newcomer("a", needs_known_id=True)
    assert driver.code(sent_away) is ErrorCode.MEMBER_ID_REQUIRED
    assert driver.joined(sent_away).member_id == "a"
    assert len(driver.group.members) == 0
    assert not driver.group.is_idle
    ticket = driver.join("a")
    driver.pass_time(DELAY_MS)
    assert driver.joined(ticket).generation == 1


def test_id_that_was_not_used_in_time_is_unknown() -> None:
    driver = GroupDriver()
    driver.newcomer("a", needs_known_id=True)
    driver.pass_time(SESSION_MS)
    assert driver.code(driver.join("a")) is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.group.is_idle


def test_id_that_was_given_out_does_not_become_a_static_member() -> None:
    driver = GroupDriver()
    driver.newcomer("a", needs_known_id=True)
    assert driver.code(driver.join("a", instance_id="one")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_rebalance_waits_for_a_member_that_was_sent_away() -> None:
    driver = GroupDriver()
    driver.form("a")
    driver.newcomer("b", needs_known_id=True)
    driver.newcomer("c")
    rejoined = driver.join("a")
    assert driver.is_parked(rejoined)
    driver.join("b")
    assert len(driver.joined(rejoined).members) == 3


def test_rebalance_goes_on_without_a_member_that_left_before_it_came() -> None:
    driver = GroupDriver()
    driver.form("a")
    driver.newcomer("b", needs_known_id=True)
    driver.newcomer("c")
    rejoined = driver.join("a")
    assert driver.leave(MemberIdentity("b")) == [ErrorCode.NONE]
    assert len(driver.joined(rejoined).members) == 2


def test_departure_of_a_member_that_never_came_disturbs_nobody() -> None:
    driver = GroupDriver()
    driver.form("a")
    driver.newcomer("b", needs_known_id=True)
    assert driver.leave(MemberIdentity("b")) == [ErrorCode.NONE]
    assert driver.group.phase is Phase.STABLE


def test_new_member_makes_a_stable_group_rebalance() -> None:
    driver = GroupDriver()
    driver.form("a")
    newcomer = driver.newcomer("b")
    assert driver.group.phase is Phase.PREPARING
    assert driver.heartbeat("a") is ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.is_parked(newcomer)
    driver.join("a")
    assert driver.joined(newcomer).generation == 2


def test_member_that_does_not_join_again_in_time_is_left_behind() -> None:
    driver = GroupDriver()
    driver.form("a", "b")
    driver.newcomer("c")
    rejoined = driver.join("a")
    for _ in range(REBALANCE_MS // SESSION_MS + 1):
        driver.heartbeat("b")
        driver.pass_time(SESSION_MS - 1)
    assert [each.member_id for each in driver.joined(rejoined).members] == ["a", "c"]
    assert driver.heartbeat("b", generation=1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_leader_that_did_not_join_again_is_replaced() -> None:
    driver = GroupDriver()
    driver.form("a", "b")
    rejoined = driver.join("b", protocols=offers("range", metadata=b"other topics"))
    driver.pass_time(SESSION_MS)
    assert driver.joined(rejoined).leader_id == "b"
    assert [each.member_id for each in driver.joined(rejoined).members] == ["b"]


def test_follower_that_says_nothing_new_is_told_of_its_generation() -> None:
    driver = GroupDriver()
    driver.form("a", "b")
    answer = driver.joined(driver.join("b"))
    assert (answer.error, answer.generation, answer.leader_id) == (ErrorCode.NONE, 1, "a")
    assert driver.group.phase is Phase.STABLE


def test_leader_of_a_stable_generation_can_ask_for_a_new_one() -> None:
    driver = GroupDriver()
    driver.form("a", "b")
    driver.join("a")
    assert driver.group.phase is Phase.PREPARING


def test_leader_whose_join_answer_was_lost_gets_it_again() -> None:
    driver = GroupDriver()
    driver.newcomer("a")
    driver.newcomer("b")
    driver.pass_time(2 * DELAY_MS)
    answer = driver.joined(driver.join("a"))
    assert (answer.generation, len(answer.members)) == (1, 2)
    assert driver.group.phase is Phase.COMPLETING


def test_changed_subscription_makes_the_group_rebalance() -> None:
    driver = GroupDriver()
    driver.form("a", "b")
    driver.join("b", protocols=offers("range", metadata=b"other topics"))
    assert driver.group.phase is Phase.PREPARING


def test_join_sent_again_overtakes_the_parked_one() -> None:
    driver = GroupDriver()
    driver.form("a", "b")
    first = driver.join("a")
    second = driver.join("a")
    assert driver.code(first) is ErrorCode.REBALANCE_IN_PROGRESS
    driver.join("b")
    assert driver.joined(second).generation == 2


def test_empty_group_knows_no_member() -> None:
    assert (driver := GroupDriver()).code(driver.join("a")) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    "join",
    [
        {"protocols": offers("sticky")},
        {"protocol_type": "connect"},
        {"protocol_type": ""},
        {"protocols": ()},
    ],
)
def test_members_must_agree_on_a_protocol(join: dict[str, object]) -> None:
    driver = GroupDriver()
    driver.form("a")
    refused = driver.newcomer("b", **join)  # type: ignore[arg-type]  # one field, whatever its type
    assert driver.code(refused) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert driver.group.phase is Phase.STABLE


@pytest.mark.parametrize("join", [{"protocol_type": ""}, {"protocols": ()}])
def test_first_member_must_name_protocols(join: dict[str, object]) -> None:
    driver = GroupDriver()
    refused = driver.newcomer("a", **join)  # type: ignore[arg-type]  # one field, whatever its type
    assert driver.code(refused) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert driver.group.is_idle


def test_abandoned_group_can_be_used_for_another_protocol() -> None:
    driver = GroupDriver()
    driver.form("a")
    driver.leave(MemberIdentity("a"))
    ticket = driver.newcomer("worker", protocol_type="connect", protocols=offers("sessioned"))
    driver.pass_time(DELAY_MS)
    assert driver.joined(ticket).protocol_type == "connect"


def test_full_group_takes_no_further_member() -> None:
    driver = GroupDriver(GroupLimits(initial_rebalance_delay_ms=DELAY_MS, members_max=2))
    driver.form("a", "b")
    assert driver.code(driver.newcomer("c")) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert driver.group.phase is Phase.STABLE
    assert driver.joined(driver.join("b")).generation == 1


def test_members_who_come_first_fill_the_next_generation() -> None:
    driver = GroupDriver(GroupLimits(initial_rebalance_delay_ms=DELAY_MS, members_max=2))
    driver.form("a", "b")
    driver.join("a")
    newcomer = driver.newcomer("c")
    assert driver.code(driver.join("b")) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert driver.joined(newcomer).generation == 2
    assert [member.member_id for member in driver.group.members] == ["a", "c"]


def test_ids_given_out_are_bounded_too() -> None:
    driver = GroupDriver(GroupLimits(members_max=2))
    codes = [driver.code(driver.newcomer(name, needs_known_id=True)) for name in "abc"]
    assert codes == [ErrorCode.MEMBER_ID_REQUIRED] * 2 + [ErrorCode.GROUP_MAX_SIZE_REACHED]


def test_member_may_not_say_too_much() -> None:
    driver = GroupDriver(GroupLimits(member_bytes_max=20))
    talkative = driver.newcomer("a", protocols=offers("range", metadata=bytes(16)))
    assert driver.code(talkative) is ErrorCode.INVALID_REQUEST


def test_members_together_may_not_say_too_much() -> None:
    driver = GroupDriver(GroupLimits(group_bytes_max=50))
    assert driver.is_parked(driver.newcomer("a", protocols=offers("range", metadata=bytes(20))))
    refused = driver.newcomer("b", protocols=offers("range", metadata=bytes(21)))
    assert driver.code(refused) is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_newcomer_whose_client_went_away_is_forgotten_in_the_end() -> None:
    driver = GroupDriver()
    driver.form("a")
    parked = driver.newcomer("b", rebalance_timeout_ms=10 * REBALANCE_MS)
    for _ in range(40):
        driver.heartbeat("a")
        driver.pass_time(SESSION_MS - 1)
    assert driver.code(parked) is ErrorCode.UNKNOWN_MEMBER_ID
    assert [member.member_id for member in driver.group.members] == ["a"]


def test_giving_up_answers_whatever_is_parked() -> None:
    driver = GroupDriver()
    driver.form("a", "b")
    parked = driver.join("a")
    driver.group.give_up(ErrorCode.NOT_COORDINATOR)
    driver._collect()
    assert driver.code(parked) is ErrorCode.NOT_COORDINATOR

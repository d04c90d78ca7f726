"""Members of a group, their leader and their protocols."""

import pytest

from inkless.groups.effects import Ticket
from inkless.groups.events import MemberIdentity
from inkless.groups.member import Member
from inkless.groups.members import Members
from inkless.protocol.error_codes import ErrorCode
from support.group_driver import offers


def member(member_id: str, *protocols: str, instance_id: str | None = None) -> Member:
    return Member(
        member_id=member_id,
        instance_id=instance_id,
        client_id="client",
        client_host="/host",
        session_timeout_ms=1,
        rebalance_timeout_ms=1,
        protocols=offers(*(protocols or ("range",))),
    )


def members_of(*added: Member) -> Members:
    members = Members()
    for each in added:
        members.add(each)
    return members


@pytest.mark.parametrize(
    ("preferences", "selected"),
    [
        ([("range", "sticky")], "range"),
        ([("range", "sticky"), ("sticky", "range"), ("sticky", "range")], "sticky"),
        # The first choice of most is worth nothing if one member does not know it.
        ([("sticky", "range"), ("sticky", "range"), ("range",)], "range"),
    ],
)
def test_protocol_is_the_favourite_among_those_all_know(
    preferences: list[tuple[str, ...]], selected: str
) -> None:
    members = members_of(*(member(str(number), *names) for number, names in enumerate(preferences)))
    assert members.select_protocol() == selected


def test_nobody_selects_nothing() -> None:
    assert members_of().select_protocol() is None


def test_protocol_named_twice_counts_once() -> None:
    members = members_of(member("a", "range", "range"), member("b", "range"))
    assert members.share_a_protocol_with(offers("range"))
    members.remove(members["a"])
    assert members.share_a_protocol_with(offers("range"))


def test_departed_member_no_longer_limits_the_protocols() -> None:
    members = members_of(member("a", "range"), member("b", "range", "sticky"))
    assert not members.share_a_protocol_with(offers("sticky"))
    members.remove(members["a"])
    assert members.share_a_protocol_with(offers("sticky"))


def test_first_member_leads_until_it_goes() -> None:
    members = members_of(member("a"), member("b"))
    assert members.leader_id == "a"
    members.remove(members["a"])
    assert members.leader_id == "b"
    members.remove(members["b"])
    assert members.leader_id is None


def test_leader_that_has_not_joined_again_is_replaced() -> None:
    members = members_of(member("a"), member("b"), member("c"))
    assert not members.elect_among_joined()
    members.park_join(members["c"], Ticket(1))
    assert members.elect_among_joined()
    assert members.leader_id == "c"
    members.park_join(members["a"], Ticket(2))
    assert members.elect_among_joined()
    assert members.leader_id == "c"


def test_renamed_leader_still_leads_from_its_place() -> None:
    members = members_of(member("a", instance_id="one"), member("b"))
    members.rename(members["a"], "a2")
    assert [each.member_id for each in members] == ["a2", "b"]
    assert members.leader_id == "a2"
    assert members.refusal(MemberIdentity("a2", "one")) is ErrorCode.NONE
    assert members.refusal(MemberIdentity("a", "one")) is ErrorCode.FENCED_INSTANCE_ID
    assert members.refusal(MemberIdentity("a")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_unknown_instance_is_unknown_whatever_its_member_id() -> None:
    members = members_of(member("a"))
    assert members.refusal(MemberIdentity("a", "one")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_bytes_are_counted_until_their_member_goes() -> None:
    members = members_of(member("a", "range"))
    own = len("range") + len(b"topics")
    assert members.byte_count == own
    members.assign(members["a"], bytes(100))
    assert members.byte_count == own + 100
    members.change_protocols(members["a"], offers("r"))
    assert members.byte_count == own + 100 - 4
    members.assign(members["a"], b"")
    members.remove(members["a"])
    assert members.byte_count == 0

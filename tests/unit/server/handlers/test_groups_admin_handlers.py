"""ListGroups, DescribeGroups and DeleteGroups."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    ListGroupsRequest,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from inkless.protocol.wire_types import INT32_MIN
from support.cluster_parts import a_broker
from support.handler_broker import HandlerBroker, handler_broker


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[HandlerBroker]:
    async with handler_broker(tmp_path, overrides={"group.initial.rebalance.delay.ms": "0"}) as made:
        yield made


async def join(broker: HandlerBroker, group_id: str) -> str:
    """The id of its only member, which still waits for an assignment."""
    protocols = [JoinGroupRequestProtocol("range", b"topics")]
    request = JoinGroupRequest(group_id, 10_000, protocol_type="consumer", protocols=protocols)
    member_id: str = (await broker.ask(request, version=3)).member_id
    return member_id


async def form(broker: HandlerBroker, group_id: str) -> str:
    member_id = await join(broker, group_id)
    assignments = [SyncGroupRequestAssignment(member_id, b"everything")]
    await broker.ask(SyncGroupRequest(group_id, 1, member_id, assignments=assignments), version=3)
    return member_id


async def abandon(broker: HandlerBroker, group_id: str) -> None:
    member_id = await form(broker, group_id)
    await broker.ask(LeaveGroupRequest(group_id, member_id=member_id), version=0)


@pytest.mark.parametrize("version", range(6))
async def test_groups_are_listed_in_every_version(broker: HandlerBroker, version: int) -> None:
    await form(broker, "stable")
    await abandon(broker, "empty")
    groups = (await broker.ask(ListGroupsRequest(), version=version)).groups
    assert [(each.group_id, each.protocol_type) for each in groups] == [
        ("empty", "consumer"),
        ("stable", "consumer"),
    ]
    if version >= 4:
        assert [each.group_state for each in groups] == ["Empty", "Stable"]
    if version >= 5:
        assert [each.group_type for each in groups] == ["classic", "classic"]


@pytest.mark.parametrize(
    ("request_", "listed"),
    [
        (ListGroupsRequest(["Stable"]), ["stable"]),
        (ListGroupsRequest(["empty", "PreparingRebalance"]), ["empty"]),
        (ListGroupsRequest(["Dead"]), []),
        (ListGroupsRequest(types_filter=["Classic"]), ["empty", "stable"]),
        (ListGroupsRequest(types_filter=["consumer"]), []),
    ],
)
async def test_groups_are_listed_by_state_and_type(
    broker: HandlerBroker, request_: ListGroupsRequest, listed: list[str]
) -> None:
    await form(broker, "stable")
    await abandon(broker, "empty")
    assert [each.group_id for each in (await broker.ask(request_)).groups] == listed


async def test_each_broker_lists_its_own_groups(broker: HandlerBroker) -> None:
    names = [f"group-{number}" for number in range(20)]
    for name in names:
        await abandon(broker, name)
    await broker.parts.add_brokers(a_broker(1), a_broker(2))
    listed = [each.group_id for each in (await broker.ask(ListGroupsRequest())).groups]
    assert listed == [name for name in sorted(names) if broker.context.groups.is_coordinated_here(name)]
    assert 0 < len(listed) < len(names)


@pytest.mark.parametrize("version", range(7))
async def test_stable_group_is_described_in_every_version(broker: HandlerBroker, version: int) -> None:
    member_id = await form(broker, "g")
    (group,) = (await broker.ask(DescribeGroupsRequest(["g"]), version=version)).groups
    assert (group.error_code, group.group_state) == (ErrorCode.NONE, "Stable")
    assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
    (member,) = group.members
    assert (member.member_id, member.client_id, member.client_host) == (member_id, "test", "/127.0.0.1")
    assert (member.member_metadata, member.member_assignment) == (b"topics", b"everything")
    assert group.authorized_operations == INT32_MIN


async def test_group_in_a_rebalance_shows_its_members_only(broker: HandlerBroker) -> None:
    member_id = await join(broker, "g")
    (group,) = (await broker.ask(DescribeGroupsRequest(["g"]))).groups
    assert (group.group_state, group.protocol_data) == ("CompletingRebalance", "")
    assert [(each.member_id, each.member_metadata) for each in group.members] == [(member_id, b"")]


async def test_group_that_only_the_database_knows_is_empty(broker: HandlerBroker) -> None:
    await broker.parts.control_plane.claim_group("g", broker_id=7, incarnation=bytes(16))
    (group,) = (await broker.ask(DescribeGroupsRequest(["g"], include_authorized_operations=True))).groups
    assert (group.error_code, group.group_state, group.members) == (ErrorCode.NONE, "Empty", [])
    assert group.authorized_operations == 1 << 3 | 1 << 6 | 1 << 8


@pytest.mark.parametrize("version", range(7))
async def test_unknown_group_is_described_as_dead(broker: HandlerBroker, version: int) -> None:
    (group,) = (await broker.ask(DescribeGroupsRequest(["g"]), version=version)).groups
    assert group.group_state == "Dead"
    assert group.error_code == (ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else ErrorCode.NONE)


@pytest.mark.parametrize("version", range(3))
async def test_only_groups_without_members_are_deleted(broker: HandlerBroker, version: int) -> None:
    await form(broker, "stable")
    await abandon(broker, "empty")
    request = DeleteGroupsRequest(["stable", "empty", "unknown", ""])
    results = (await broker.ask(request, version=version)).results
    assert [(each.group_id, each.error_code) for each in results] == [
        ("stable", ErrorCode.NON_EMPTY_GROUP),
        ("empty", ErrorCode.NONE),
        ("unknown", ErrorCode.GROUP_ID_NOT_FOUND),
        ("", ErrorCode.INVALID_GROUP_ID),
    ]
    assert [each.group_id for each in (await broker.ask(ListGroupsRequest())).groups] == ["stable"]


async def test_tools_are_told_when_the_database_is_away(broker: HandlerBroker) -> None:
    broker.parts.link.is_down = True
    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert (await broker.ask(ListGroupsRequest())).error_code == code
    assert (await broker.ask(DescribeGroupsRequest(["g"]))).groups[0].error_code == code
    assert (await broker.ask(DeleteGroupsRequest(["g"]))).results[0].error_code == code


async def test_other_brokers_groups_are_refused(broker: HandlerBroker) -> None:
    await broker.parts.add_brokers(a_broker(1), a_broker(2))
    described = (await broker.ask(DescribeGroupsRequest(["group-2"]))).groups[0]
    deleted = (await broker.ask(DeleteGroupsRequest(["group-2"]))).results[0]
    assert {described.error_code, deleted.error_code} == {ErrorCode.NOT_COORDINATOR}

"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup, in every version that clients may speak."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from support.cluster_parts import a_broker
from support.handler_broker import HandlerBroker, handler_broker

PROTOCOLS = [JoinGroupRequestProtocol("range", b"topics")]


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[HandlerBroker]:
    async with handler_broker(tmp_path, overrides={"group.initial.rebalance.delay.ms": "0"}) as made:
        yield made


def a_join(group_id: str = "g", **changes: object) -> JoinGroupRequest:
    fields: dict[str, object] = {
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 20_000,
        "protocol_type": "consumer",
        "protocols": PROTOCOLS,
        **changes,
    }
    return JoinGroupRequest(group_id, **fields)  # type: ignore[arg-type]  # tests name what matters to them


async def joined(broker: HandlerBroker, *, version: int = 9, **changes: Any) -> JoinGroupResponse:
    """The answer of a newcomer that comes back with its id where it is told to."""
    response: JoinGroupResponse = await broker.ask(a_join(**changes), version=version)
    if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        response = await broker.ask(a_join(member_id=response.member_id, **changes), version=version)
    return response


@pytest.mark.parametrize("version", range(10))
async def test_newcomer_joins_in_every_version(broker: HandlerBroker, version: int) -> None:
    first = await broker.ask(a_join(), version=version)
    if version >= 4:
        assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
        assert first.protocol_name == (None if version >= 7 else "")
        first = await broker.ask(a_join(member_id=first.member_id), version=version)
    assert (first.error_code, first.generation_id, first.protocol_name) == (ErrorCode.NONE, 1, "range")
    assert first.protocol_type == ("consumer" if version >= 7 else None)
    assert first.member_id.startswith("test-")
    assert first.leader == first.member_id
    assert [(each.member_id, each.metadata) for each in first.members] == [(first.member_id, b"topics")]


async def test_oldest_clients_rebalance_within_their_session_timeout(broker: HandlerBroker) -> None:
    await broker.ask(a_join(), version=0)
    hosted = broker.context.groups.find("g")
    assert hosted is not None
    (member,) = hosted.group.members
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (10_000, 10_000)
    assert (member.client_id, member.client_host) == ("test", "/127.0.0.1")


@pytest.mark.parametrize("version", range(5, 10))
async def test_static_member_keeps_its_place(broker: HandlerBroker, version: int) -> None:
    first = await broker.ask(a_join(group_instance_id="one"), version=version)
    assert first.error_code == ErrorCode.NONE
    assert first.member_id.startswith("one-")
    await synced(broker, first)
    second = await broker.ask(a_join(group_instance_id="one"), version=version)
    assert (second.error_code, second.generation_id) == (ErrorCode.NONE, 1)
    assert second.member_id != first.member_id
    assert second.skip_assignment == (version >= 9)
    assert second.leader == (second.member_id if version >= 9 else first.member_id)
    fenced = HeartbeatRequest("g", 1, first.member_id, "one")
    assert (await broker.ask(fenced)).error_code == ErrorCode.FENCED_INSTANCE_ID


async def synced(broker: HandlerBroker, joined: JoinGroupResponse, *, version: int = 5) -> bytes:
    request = SyncGroupRequest(
        "g",
        joined.generation_id,
        joined.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(joined.member_id, b"mine")],
    )
    response = await broker.ask(request, version=version)
    assert response.error_code == ErrorCode.NONE
    assignment: bytes = response.assignment
    return assignment


@pytest.mark.parametrize("version", range(6))
async def test_leader_gets_its_own_assignment_back(broker: HandlerBroker, version: int) -> None:
    assert await synced(broker, await joined(broker), version=version) == b"mine"


async def test_follower_gets_what_the_leader_assigns(broker: HandlerBroker) -> None:
    leader = await joined(broker)
    joining = asyncio.ensure_future(broker.ask(a_join(), version=3))
    while (await broker.ask(HeartbeatRequest("g", 1, leader.member_id))).error_code == ErrorCode.NONE:
        await asyncio.sleep(0)
    leader = await broker.ask(a_join(member_id=leader.member_id))
    follower = await joining
    assert (leader.generation_id, follower.generation_id) == (2, 2)
    assert (follower.leader, follower.members) == (leader.member_id, [])
    waiting = asyncio.ensure_future(broker.ask(SyncGroupRequest("g", 2, follower.member_id), version=3))
    await broker.ask(
        SyncGroupRequest(
            "g", 2, leader.member_id, assignments=[SyncGroupRequestAssignment(follower.member_id, b"all")]
        ),
        version=3,
    )
    assert (await waiting).assignment == b"all"


@pytest.mark.parametrize(
    ("join", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_timeout_ms": 5_999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
async def test_bad_joins_are_refused(broker: HandlerBroker, join: dict[str, object], code: ErrorCode) -> None:
    response = await broker.ask(a_join(**join))  # type: ignore[arg-type]  # rows of a table
    assert (response.error_code, response.generation_id) == (code, -1)
    assert response.member_id == join.get("member_id", "")


async def test_newest_sync_must_name_the_protocol(broker: HandlerBroker) -> None:
    member = await joined(broker)
    response = await broker.ask(SyncGroupRequest("g", 1, member.member_id), version=5)
    assert response.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("version", range(5))
async def test_heartbeat_in_every_version(broker: HandlerBroker, version: int) -> None:
    member = await joined(broker)
    codes = [
        (await broker.ask(HeartbeatRequest(group, generation, member_id), version=version)).error_code
        for group, generation, member_id in [
            ("g", 1, member.member_id),
            ("g", 2, member.member_id),
            ("g", 1, "stranger"),
            ("elsewhere", 1, member.member_id),
            ("", 1, member.member_id),
        ]
    ]
    assert codes == [
        ErrorCode.NONE,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.INVALID_GROUP_ID,
    ]


@pytest.mark.parametrize("version", range(3))
async def test_one_member_leaves_in_old_versions(broker: HandlerBroker, version: int) -> None:
    member = await joined(broker)
    request = LeaveGroupRequest("g", member_id=member.member_id)
    assert (await broker.ask(request, version=version)).error_code == ErrorCode.NONE
    assert (await broker.ask(request, version=version)).error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(3, 6))
async def test_members_leave_together_in_new_versions(broker: HandlerBroker, version: int) -> None:
    member = await joined(broker, group_instance_id="one")
    request = LeaveGroupRequest("g", members=[MemberIdentity("", "one"), MemberIdentity("stranger")])
    response = await broker.ask(request, version=version)
    assert response.error_code == ErrorCode.NONE
    assert [(each.member_id, each.group_instance_id, each.error_code) for each in response.members] == [
        ("", "one", ErrorCode.NONE),
        ("stranger", None, ErrorCode.UNKNOWN_MEMBER_ID),
    ]
    heartbeat = HeartbeatRequest("g", 1, member.member_id)
    assert (await broker.ask(heartbeat)).error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_other_brokers_groups_are_refused(broker: HandlerBroker) -> None:
    await broker.parts.add_brokers(a_broker(1), a_broker(2))
    group = "group-2"
    responses = [
        await broker.ask(a_join(group)),
        await broker.ask(SyncGroupRequest(group, protocol_type="consumer", protocol_name="range")),
        await broker.ask(HeartbeatRequest(group)),
        await broker.ask(LeaveGroupRequest(group)),
    ]
    assert {response.error_code for response in responses} == {ErrorCode.NOT_COORDINATOR}


async def test_clients_wait_for_a_database_that_is_away(broker: HandlerBroker) -> None:
    broker.parts.link.is_down = True
    response = await broker.ask(a_join())
    assert response.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

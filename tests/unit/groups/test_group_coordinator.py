"""The coordinator: claims, parked requests, moves to other brokers, and a database that is away."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from inkless.clock import SystemClock
from inkless.coordinator.types import CommittedOffset, PartitionId, Topic
from inkless.errors import RequestError, Unavailable
from inkless.groups.events import JoinRequest, MemberIdentity, SyncRequest
from inkless.groups.phases import Phase
from inkless.groups.upkeep import GroupUpkeep
from inkless.protocol.error_codes import ErrorCode
from inkless.settings import GroupSettings
from support.cluster_parts import a_broker
from support.coordinator_commits import new_topic
from support.group_driver import SESSION_MS, offers
from support.group_parts import GroupParts, group_parts

DELAY_MS = GroupSettings().initial_rebalance_delay_ms
RETENTION_MS = GroupSettings().offsets_retention_minutes * 60_000
OTHER_PROCESS = bytes([9] * 16)

Spawn = Callable[[Awaitable[Any]], "asyncio.Future[Any]"]


@pytest.fixture
async def groups(tmp_path: Path) -> AsyncIterator[GroupParts]:
    async with group_parts(tmp_path, GroupSettings(groups_max=3)) as parts:
        yield parts


@pytest.fixture
async def spawn() -> AsyncIterator[Spawn]:
    """Requests that wait; what still waits at the end is cancelled."""
    tasks: list[asyncio.Future[Any]] = []

    def start(awaitable: Awaitable[Any]) -> asyncio.Future[Any]:
        tasks.append(asyncio.ensure_future(awaitable))
        return tasks[-1]

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def join_of(fresh_member_id: str, member_id: str = "") -> JoinRequest:
    return JoinRequest(
        member=MemberIdentity(member_id),
        fresh_member_id=fresh_member_id,
        client_id="client",
        client_host="/127.0.0.1",
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=offers("range"),
    )


def sync_of(member_id: str, generation: int = 1, **assignments: bytes) -> SyncRequest:
    return SyncRequest(member=MemberIdentity(member_id), generation=generation, assignments=assignments)


async def eventually(groups: GroupParts, is_true: Callable[[], bool]) -> None:
    """The database answers from its own thread, in its own time."""
    while not is_true():
        await groups.clock.turn(0)
        await asyncio.sleep(0.001)


async def formed(groups: GroupParts, spawn: Spawn, group_id: str, *member_ids: str) -> None:
    """A stable group of these members, led by the first."""
    joins = []
    for number, member_id in enumerate(member_ids, start=1):
        joins.append(spawn(groups.coordinator.join(group_id, join_of(member_id))))
        await eventually(groups, partial(_has_members, groups, group_id, number))
    while not all(join.done() for join in joins):
        await groups.clock.turn(DELAY_MS)
    assignments = {member_id: member_id.encode() for member_id in member_ids}
    generation = groups.coordinator.find(group_id).group.generation  # type: ignore[union-attr]  # it is here
    await groups.coordinator.sync(group_id, sync_of(member_ids[0], generation, **assignments))
    for member_id in member_ids[1:]:
        await groups.coordinator.sync(group_id, sync_of(member_id, generation))


def _has_members(groups: GroupParts, group_id: str, count: int) -> bool:
    return _member_count(groups, group_id) == count


def _member_count(groups: GroupParts, group_id: str) -> int:
    hosted = groups.coordinator.find(group_id)
    return 0 if hosted is None else len(hosted.group.members)


def _phase(groups: GroupParts, group_id: str) -> Phase:
    hosted = groups.coordinator.find(group_id)
    assert hosted is not None
    return hosted.group.phase


async def a_partition(groups: GroupParts) -> PartitionId:
    topic: Topic = await groups.cluster.control_plane.create_topic(new_topic("events"))
    return PartitionId(topic.shard, topic.topic_id, 0)


def at(offset: int) -> CommittedOffset:
    return CommittedOffset(offset, 0, "", 1)


async def refused(awaitable: Awaitable[object]) -> ErrorCode:
    with pytest.raises(RequestError) as caught:
        await awaitable
    return caught.value.code


async def test_members_join_and_get_their_assignments(groups: GroupParts, spawn: Spawn) -> None:
    await formed(groups, spawn, "g", "a", "b")
    answer = await groups.coordinator.sync("g", sync_of("b"))
    assert answer.assignment == b"b"
    assert groups.coordinator.heartbeat("g", MemberIdentity("a"), 1) is ErrorCode.NONE


async def test_sync_waits_for_the_leader(groups: GroupParts, spawn: Spawn) -> None:
    joins = [spawn(groups.coordinator.join("g", join_of(name))) for name in "ab"]
    await eventually(groups, lambda: _member_count(groups, "g") == 2)
    while not all(join.done() for join in joins):
        await groups.clock.turn(DELAY_MS)
    leader = joins[0].result()
    follower_id = next(name for name in "ab" if name != leader.leader_id)
    waiting = spawn(groups.coordinator.sync("g", sync_of(follower_id)))
    await groups.clock.turn(0)
    assert not waiting.done()
    await groups.coordinator.sync("g", sync_of(leader.leader_id, 1, **{follower_id: b"all"}))
    answer = await waiting
    assert answer.assignment == b"all"


async def test_silent_member_is_removed_by_the_clock(groups: GroupParts, spawn: Spawn) -> None:
    await formed(groups, spawn, "g", "a")
    await groups.clock.turn(SESSION_MS - 1)
    assert groups.coordinator.heartbeat("g", MemberIdentity("a"), 1) is ErrorCode.NONE
    await groups.clock.turn(SESSION_MS - 1)
    assert _phase(groups, "g") is Phase.STABLE
    await groups.clock.turn(1)
    assert _phase(groups, "g") is Phase.EMPTY


async def test_member_whose_connection_broke_stays_until_its_session_ends(
    groups: GroupParts, spawn: Spawn
) -> None:
    await formed(groups, spawn, "g", "a", "b")
    parked = spawn(groups.coordinator.join("g", join_of("", "a")))
    await groups.clock.turn(0)
    parked.cancel()
    await asyncio.gather(parked, return_exceptions=True)
    assert _member_count(groups, "g") == 2
    answer = await groups.coordinator.join("g", join_of("", "b"))
    assert (answer.generation, answer.leader_id) == (2, "a")
    await groups.clock.turn(SESSION_MS - 1)
    assert groups.coordinator.heartbeat("g", MemberIdentity("b"), 2) is ErrorCode.NONE
    await groups.clock.turn(1)
    assert _member_count(groups, "g") == 1


async def test_generations_go_on_after_a_restart(groups: GroupParts, spawn: Spawn) -> None:
    await formed(groups, spawn, "g", "a")
    store = groups.cluster.control_plane
    while (await store.load_groups(["g"]))[0].generation < 1:
        await groups.clock.turn(0)
    claimed = await store.claim_group("g", broker_id=1, incarnation=OTHER_PROCESS)
    assert (claimed.generation, claimed.protocol_type) == (1, "consumer")


async def test_unknown_members_make_no_groups(groups: GroupParts) -> None:
    coordinator, nobody = groups.coordinator, MemberIdentity("nobody")
    assert await refused(coordinator.join("g", join_of("", "nobody"))) is ErrorCode.UNKNOWN_MEMBER_ID
    assert await refused(coordinator.sync("g", sync_of("nobody"))) is ErrorCode.UNKNOWN_MEMBER_ID
    assert await refused(groups.offsets.commit("g", nobody, 3, {})) is ErrorCode.UNKNOWN_MEMBER_ID
    assert coordinator.leave("g", [nobody]) == [ErrorCode.UNKNOWN_MEMBER_ID]
    with pytest.raises(RequestError, match="UNKNOWN_MEMBER_ID"):
        coordinator.heartbeat("g", nobody, 3)
    assert await groups.cluster.control_plane.load_groups(None) == []


async def test_commit_is_durable_when_it_is_answered(groups: GroupParts, spawn: Spawn) -> None:
    partition = await a_partition(groups)
    await formed(groups, spawn, "g", "a")
    await groups.offsets.commit("g", MemberIdentity("a"), 1, {partition: at(7)})
    assert await groups.cluster.control_plane.fetch_offsets("g", None) == {partition: at(7)}
    assert await groups.offsets.fetch("g", [partition]) == {partition: at(7)}


async def test_commit_of_a_stale_generation_changes_nothing(groups: GroupParts, spawn: Spawn) -> None:
    partition = await a_partition(groups)
    await formed(groups, spawn, "g", "a")
    stale = groups.offsets.commit("g", MemberIdentity("a"), 0, {partition: at(7)})
    assert await refused(stale) is ErrorCode.ILLEGAL_GENERATION
    assert await groups.offsets.fetch("g", None) == {}


async def test_lone_consumer_commits_without_joining(groups: GroupParts) -> None:
    partition = await a_partition(groups)
    await groups.offsets.commit("g", MemberIdentity(""), -1, {partition: at(7)})
    assert await groups.offsets.fetch("g", None) == {partition: at(7)}


async def test_group_claimed_elsewhere_is_given_up_with_the_next_commit(
    groups: GroupParts, spawn: Spawn
) -> None:
    partition = await a_partition(groups)
    await formed(groups, spawn, "g", "a", "b")
    parked = spawn(groups.coordinator.join("g", join_of("", "a")))
    await groups.clock.turn(0)
    await groups.cluster.control_plane.claim_group("g", broker_id=1, incarnation=OTHER_PROCESS)
    late = groups.offsets.commit("g", MemberIdentity("b"), 1, {partition: at(7)})
    assert await refused(late) is ErrorCode.NOT_COORDINATOR
    answer = await parked
    assert answer.error is ErrorCode.NOT_COORDINATOR
    assert len(groups.coordinator) == 0
    assert await groups.cluster.control_plane.fetch_offsets("g", None) == {}


async def test_group_claimed_elsewhere_is_given_up_with_the_next_generation(
    groups: GroupParts, spawn: Spawn
) -> None:
    await formed(groups, spawn, "g", "a")
    await groups.cluster.control_plane.claim_group("g", broker_id=1, incarnation=OTHER_PROCESS)
    groups.coordinator.leave("g", [MemberIdentity("a")])
    await eventually(groups, lambda: len(groups.coordinator) == 0)


async def test_groups_of_other_brokers_are_refused(groups: GroupParts, spawn: Spawn) -> None:
    await formed(groups, spawn, "group-2", "a")
    # The group's name leads to broker 2 as soon as there are three.
    await groups.cluster.add_brokers(a_broker(1), a_broker(2))
    assert not groups.coordinator.is_coordinated_here("group-2")
    join = groups.coordinator.join("group-2", join_of("b"))
    assert await refused(join) is ErrorCode.NOT_COORDINATOR
    assert await refused(groups.offsets.fetch("group-2", None)) is ErrorCode.NOT_COORDINATOR
    assert len(groups.coordinator) == 0


async def test_groups_that_moved_are_given_up_unasked(groups: GroupParts, spawn: Spawn) -> None:
    await formed(groups, spawn, "group-2", "a", "b")
    parked = spawn(groups.coordinator.join("group-2", join_of("", "a")))
    upkeep = make_upkeep(groups)
    upkeep.start()
    await groups.clock.turn(5_000)
    assert not parked.done()
    await groups.cluster.add_brokers(a_broker(1), a_broker(2))
    await groups.clock.turn(1_000)
    answer = await parked
    assert answer.error is ErrorCode.NOT_COORDINATOR
    await upkeep.close()


def make_upkeep(groups: GroupParts) -> GroupUpkeep:
    return GroupUpkeep(
        groups.coordinator,
        GroupSettings(),
        store=groups.cluster.control_plane,
        membership=groups.cluster.membership,
        clock=groups.clock,
    )


async def test_only_groups_without_members_and_commits_expire(groups: GroupParts, spawn: Spawn) -> None:
    partition = await a_partition(groups)
    await formed(groups, spawn, "joined", "a")
    old = CommittedOffset(7, 0, "", 1)
    await groups.offsets.commit("committed to long ago", MemberIdentity(""), -1, {partition: old})
    upkeep = make_upkeep(groups)
    # The control plane goes by the machine's clock: what it has noted must be older than now.
    noted_ms = SystemClock().now_ms()
    while SystemClock().now_ms() == noted_ms:
        pass
    groups.clock.jump_to(SystemClock().now_ms() + RETENTION_MS)
    assert await upkeep.expire() == 1
    assert [each.group_id for each in await groups.cluster.control_plane.load_groups(None)] == ["joined"]
    assert len(groups.coordinator) == 1


async def test_group_with_members_is_not_deleted(groups: GroupParts, spawn: Spawn) -> None:
    await formed(groups, spawn, "g", "a")
    assert await refused(groups.coordinator.delete("g")) is ErrorCode.NON_EMPTY_GROUP
    groups.coordinator.leave("g", [MemberIdentity("a")])
    await groups.coordinator.delete("g")
    assert await refused(groups.coordinator.delete("g")) is ErrorCode.GROUP_ID_NOT_FOUND
    assert await groups.cluster.control_plane.load_groups(None) == []


async def test_deleted_group_can_be_joined_anew(groups: GroupParts, spawn: Spawn) -> None:
    partition = await a_partition(groups)
    await groups.offsets.commit("g", MemberIdentity(""), -1, {partition: at(7)})
    await groups.coordinator.delete("g")
    await formed(groups, spawn, "g", "a")
    assert await groups.offsets.fetch("g", None) == {}


async def test_groups_without_members_make_room_for_others(groups: GroupParts, spawn: Spawn) -> None:
    partition = await a_partition(groups)
    await formed(groups, spawn, "kept", "a")
    for number in range(6):
        await groups.offsets.commit(f"lone-{number}", MemberIdentity(""), -1, {partition: at(number)})
    assert len(groups.coordinator) == 3
    assert _phase(groups, "kept") is Phase.STABLE
    assert await groups.offsets.fetch("lone-0", None) == {partition: at(0)}


async def test_more_groups_with_members_than_allowed_are_refused(groups: GroupParts, spawn: Spawn) -> None:
    for name in ("one", "two", "three"):
        await formed(groups, spawn, name, "a")
    fourth = groups.coordinator.join("four", join_of("a"))
    assert await refused(fourth) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert len(groups.coordinator) == 3


async def test_memberships_outlast_an_absence_of_the_database(groups: GroupParts, spawn: Spawn) -> None:
    partition = await a_partition(groups)
    await formed(groups, spawn, "g", "a")
    groups.cluster.link.is_down = True
    with pytest.raises(Unavailable):
        await groups.offsets.commit("g", MemberIdentity("a"), 1, {partition: at(7)})
    answer = await groups.coordinator.join("g", join_of("", "a"))
    assert answer.generation == 2
    await groups.coordinator.sync("g", sync_of("a", 2))
    groups.cluster.link.is_down = False
    await groups.offsets.commit("g", MemberIdentity("a"), 2, {partition: at(8)})
    assert await groups.offsets.fetch("g", None) == {partition: at(8)}


async def test_stopping_sends_waiting_members_away_and_still_takes_commits(
    groups: GroupParts, spawn: Spawn
) -> None:
    partition = await a_partition(groups)
    await formed(groups, spawn, "g", "a", "b")
    parked = spawn(groups.coordinator.join("g", join_of("", "a")))
    await groups.clock.turn(0)
    groups.coordinator.stop()
    answer = await parked
    assert answer.error is ErrorCode.NOT_COORDINATOR
    assert await refused(groups.coordinator.join("g", join_of("c"))) is ErrorCode.NOT_COORDINATOR
    assert await refused(groups.coordinator.sync("g", sync_of("a"))) is ErrorCode.NOT_COORDINATOR
    await groups.offsets.commit("g", MemberIdentity("b"), 1, {partition: at(7)})
    assert groups.coordinator.leave("g", [MemberIdentity("b")]) == [ErrorCode.NONE]

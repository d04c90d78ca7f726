"""What every control plane promises of groups and their committed offsets."""

import asyncio

import pytest

from inkless.clock import SystemEntropy
from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.open import open_control_plane
from inkless.coordinator.types import CommittedOffset, GroupFence, PartitionId, StoredGroup, Topic
from inkless.errors import RequestError
from inkless.protocol.error_codes import ErrorCode
from support.coordinator_commits import HandClock, new_topic

FIRST, SECOND = bytes([1] * 16), bytes([2] * 16)


async def claim(control_plane: ControlPlane, group_id: str = "g", incarnation: bytes = FIRST) -> GroupFence:
    claimed = await control_plane.claim_group(group_id, broker_id=incarnation[0], incarnation=incarnation)
    return claimed.fence


async def partitions_of(control_plane: ControlPlane, name: str, count: int = 3) -> list[PartitionId]:
    topic = await control_plane.create_topic(new_topic(name, count))
    return [partition_of(topic, index) for index in range(count)]


def partition_of(topic: Topic, index: int) -> PartitionId:
    return PartitionId(topic.shard, topic.topic_id, index)


def at(offset: int, metadata: str = "", committed_ms: int = 1) -> CommittedOffset:
    return CommittedOffset(offset, leader_epoch=0, metadata=metadata, committed_ms=committed_ms)


async def test_committed_offsets_are_fetched_as_they_were_committed(control_plane: ControlPlane) -> None:
    first, second, _ = await partitions_of(control_plane, "events")
    (other, *_) = await partitions_of(control_plane, "others")
    fence = await claim(control_plane)
    offsets = {
        first: CommittedOffset(7, 3, 'a note with "quotes", \x00, ≥ and 🦑', 99),
        second: at(8),
        other: CommittedOffset(0, -1, "", 100),
    }
    await control_plane.commit_offsets(fence, offsets)
    assert await control_plane.fetch_offsets("g", None) == offsets
    assert await control_plane.fetch_offsets("g", [first, other]) == {
        first: offsets[first],
        other: offsets[other],
    }


async def test_partition_that_was_never_committed_has_no_offset(control_plane: ControlPlane) -> None:
    first, second, _ = await partitions_of(control_plane, "events")
    await control_plane.commit_offsets(await claim(control_plane), {first: at(7)})
    assert await control_plane.fetch_offsets("g", [second]) == {}
    assert await control_plane.fetch_offsets("g", []) == {}
    assert await control_plane.fetch_offsets("unheard of", None) == {}


async def test_groups_do_not_see_each_others_offsets(control_plane: ControlPlane) -> None:
    partition, *_ = await partitions_of(control_plane, "events")
    await control_plane.commit_offsets(await claim(control_plane, "g"), {partition: at(1)})
    await control_plane.commit_offsets(await claim(control_plane, "h"), {partition: at(2)})
    assert await control_plane.fetch_offsets("g", None) == {partition: at(1)}
    assert await control_plane.fetch_offsets("h", None) == {partition: at(2)}


async def test_later_commits_replace_earlier_ones_even_backwards(control_plane: ControlPlane) -> None:
    first, second, _ = await partitions_of(control_plane, "events")
    fence = await claim(control_plane)
    await control_plane.commit_offsets(fence, {first: at(7, "old"), second: at(1)})
    await control_plane.commit_offsets(fence, {first: at(5, "new")})
    assert await control_plane.fetch_offsets("g", None) == {first: at(5, "new"), second: at(1)}


async def test_commits_take_effect_in_the_order_of_their_calls(control_plane: ControlPlane) -> None:
    partition, *_ = await partitions_of(control_plane, "events")
    fence = await claim(control_plane)
    await asyncio.gather(
        *(control_plane.commit_offsets(fence, {partition: at(number)}) for number in range(300))
    )
    assert await control_plane.fetch_offsets("g", None) == {partition: at(299)}


async def test_stale_caller_among_many_fails_alone(control_plane: ControlPlane) -> None:
    first, second, third = await partitions_of(control_plane, "events")
    stale = await claim(control_plane, incarnation=FIRST)
    fence = await claim(control_plane, incarnation=SECOND)
    outcomes = await asyncio.gather(
        control_plane.commit_offsets(fence, {first: at(1)}),
        control_plane.commit_offsets(stale, {second: at(2)}),
        control_plane.commit_offsets(fence, {third: at(3)}),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), RequestError, type(None)]
    assert await control_plane.fetch_offsets("g", None) == {first: at(1), third: at(3)}


async def test_same_process_gets_the_same_claim_again(control_plane: ControlPlane) -> None:
    fence = await claim(control_plane)
    assert await claim(control_plane) == fence
    await control_plane.commit_offsets(fence, {})


async def test_new_claim_finds_the_recorded_generation(control_plane: ControlPlane) -> None:
    fence = await claim(control_plane)
    await control_plane.record_generation(fence, generation=7, protocol_type="consumer")
    await control_plane.record_generation(fence, generation=5, protocol_type="consumer")
    claimed = await control_plane.claim_group("g", broker_id=2, incarnation=SECOND)
    assert (claimed.generation, claimed.protocol_type) == (7, "consumer")
    assert claimed.fence.epoch == fence.epoch + 1


@pytest.mark.parametrize("call", ["commit", "record", "delete offsets", "delete group"])
@pytest.mark.parametrize("lost_to", ["another process", "a deletion", "a new group of that name"])
async def test_former_coordinator_changes_nothing(
    control_plane: ControlPlane, call: str, lost_to: str
) -> None:
    partition, *_ = await partitions_of(control_plane, "events")
    stale = await claim(control_plane, incarnation=FIRST)
    if lost_to == "another process":
        await claim(control_plane, incarnation=SECOND)
    else:
        await control_plane.delete_group(stale)
        if lost_to == "a new group of that name":
            await claim(control_plane, incarnation=SECOND)
    before = await control_plane.load_groups(None)
    calls = {
        "commit": lambda: control_plane.commit_offsets(stale, {partition: at(1)}),
        "record": lambda: control_plane.record_generation(stale, generation=9, protocol_type="x"),
        "delete offsets": lambda: control_plane.delete_offsets(stale, [partition]),
        "delete group": lambda: control_plane.delete_group(stale),
    }
    with pytest.raises(RequestError) as caught:
        await calls[call]()
    assert caught.value.code is ErrorCode.NOT_COORDINATOR
    assert await control_plane.load_groups(None) == before
    assert await control_plane.fetch_offsets("g", None) == {}


async def test_groups_are_listed_by_id(control_plane: ControlPlane) -> None:
    await claim(control_plane, "h", SECOND)
    fence = await claim(control_plane, "g", FIRST)
    await control_plane.record_generation(fence, generation=3, protocol_type="consumer")
    g, h = StoredGroup("g", 1, 3, "consumer"), StoredGroup("h", 2, 0, "")
    assert await control_plane.load_groups(None) == [g, h]
    assert await control_plane.load_groups(["h", "unheard of"]) == [h]
    assert await control_plane.load_groups([]) == []


async def test_deleted_offsets_are_gone_and_others_stay(control_plane: ControlPlane) -> None:
    first, second, third = await partitions_of(control_plane, "events")
    fence = await claim(control_plane)
    await control_plane.commit_offsets(fence, {first: at(1), second: at(2)})
    await control_plane.delete_offsets(fence, [first, third])
    assert await control_plane.fetch_offsets("g", None) == {second: at(2)}


async def test_deleted_group_leaves_nothing(control_plane: ControlPlane) -> None:
    partition, *_ = await partitions_of(control_plane, "events")
    fence = await claim(control_plane)
    await control_plane.commit_offsets(fence, {partition: at(1)})
    await control_plane.delete_group(fence)
    assert await control_plane.load_groups(None) == []
    await claim(control_plane)
    assert await control_plane.fetch_offsets("g", None) == {}


async def test_deleted_topic_takes_its_offsets_with_it(control_plane: ControlPlane) -> None:
    (gone, *_) = await partitions_of(control_plane, "events")
    (kept, *_) = await partitions_of(control_plane, "others")
    fence = await claim(control_plane)
    await control_plane.commit_offsets(fence, {gone: at(1), kept: at(2)})
    await control_plane.delete_topic(gone.topic_id)
    assert await control_plane.fetch_offsets("g", None) == {kept: at(2)}


async def test_offsets_survive_the_process(control_plane_url: str, clock: HandClock) -> None:
    plane = await open_control_plane(control_plane_url, clock=clock, entropy=SystemEntropy())
    partition, *_ = await partitions_of(plane, "events")
    await plane.commit_offsets(await claim(plane), {partition: at(7)})
    reopened = await open_control_plane(control_plane_url, clock=clock, entropy=SystemEntropy())
    assert await reopened.fetch_offsets("g", None) == {partition: at(7)}
    await reopened.close()
    await plane.close()


async def test_groups_that_nobody_uses_expire(control_plane: ControlPlane, clock: HandClock) -> None:
    partition, *_ = await partitions_of(control_plane, "events")
    begin_ms = clock.now_ms()
    in_use = await claim(control_plane, "with members")
    committed = await claim(control_plane, "committed to")
    await claim(control_plane, "unused")
    joined = await claim(control_plane, "joined")
    clock.ms += 1_000
    await control_plane.commit_offsets(committed, {partition: at(1, committed_ms=clock.ms)})
    await control_plane.record_generation(joined, generation=1, protocol_type="consumer")
    expired = await control_plane.expire_groups([in_use], unused_before_ms=begin_ms + 1, count_max=10)
    assert expired == ["unused"]
    remaining = [group.group_id for group in await control_plane.load_groups(None)]
    assert remaining == ["committed to", "joined", "with members"]


async def test_expiry_is_bounded_and_takes_offsets_along(
    control_plane: ControlPlane, clock: HandClock
) -> None:
    partition, *_ = await partitions_of(control_plane, "events")
    for name in "abc":
        fence = await claim(control_plane, name)
        await control_plane.commit_offsets(fence, {partition: at(1, committed_ms=clock.ms)})
    clock.ms += 1
    expired = await control_plane.expire_groups([], unused_before_ms=clock.ms, count_max=2)
    assert len(expired) == 2
    expired += await control_plane.expire_groups([], unused_before_ms=clock.ms, count_max=2)
    assert sorted(expired) == ["a", "b", "c"]
    for name in "abc":
        assert await control_plane.fetch_offsets(name, None) == {}


async def test_stale_note_of_members_keeps_no_group(control_plane: ControlPlane, clock: HandClock) -> None:
    stale = await claim(control_plane, incarnation=FIRST)
    await claim(control_plane, incarnation=SECOND)
    clock.ms += 1
    assert await control_plane.expire_groups([stale], unused_before_ms=clock.ms, count_max=2) == ["g"]

"""What every control plane promises about objects to be deleted, duties and unused producers."""

from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.types import DeleteRecordsRequest, ObjectCommit, ObjectId, PartitionId
from inkless.protocol.error_codes import ErrorCode
from support.coordinator_commits import HandClock, new_object_id, new_topic, object_of, plain, sequenced

ALL = 1 << 60
DAY_MS = 86_400_000


async def a_partition(plane: ControlPlane) -> PartitionId:
    topic = await plane.create_topic(new_topic("events"))
    return PartitionId(topic.shard, topic.topic_id, 0)


async def listed(plane: ControlPlane, since_before_ms: int = ALL) -> list[ObjectId]:
    found = await plane.unreferenced_objects(since_before_ms=since_before_ms, count_max=1_000)
    return [each.object_id for each in found]


async def committed_and_released(plane: ControlPlane, partition: PartitionId) -> ObjectCommit:
    """An object that nothing refers to any more."""
    commit = object_of({partition: [plain()]})
    await plane.commit_objects([commit])
    await plane.delete_records([DeleteRecordsRequest(partition, -1)])
    return commit


async def test_forgotten_object_is_listed_no_more(control_plane: ControlPlane) -> None:
    partition = await a_partition(control_plane)
    gone = await committed_and_released(control_plane, partition)
    stays = await committed_and_released(control_plane, partition)
    assert await control_plane.forget_objects([gone.object_id]) == 1
    assert await listed(control_plane) == [stays.object_id]


async def test_forgetting_twice_or_what_is_unknown_does_nothing(control_plane: ControlPlane) -> None:
    gone = await committed_and_released(control_plane, await a_partition(control_plane))
    assert await control_plane.forget_objects([gone.object_id]) == 1
    assert await control_plane.forget_objects([gone.object_id, new_object_id()]) == 0
    assert await control_plane.forget_objects([]) == 0


async def test_referenced_object_is_never_forgotten(control_plane: ControlPlane) -> None:
    partition = await a_partition(control_plane)
    kept = object_of({partition: [plain(2), plain(3)]})
    await control_plane.commit_objects([kept])
    assert await control_plane.forget_objects([kept.object_id]) == 0
    (bounds,) = await control_plane.offset_bounds([partition])
    assert (bounds.log_start_offset, bounds.high_watermark) == (0, 5)
    (hit,) = await control_plane.find_by_timestamp([(partition, 0)])
    assert hit.coordinates is not None
    assert hit.coordinates.object_id == kept.object_id


async def test_commit_repeated_after_its_object_was_forgotten_is_not_carried_out_again(
    control_plane: ControlPlane, clock: HandClock
) -> None:
    partition = await a_partition(control_plane)
    gone = await committed_and_released(control_plane, partition)
    await control_plane.forget_objects([gone.object_id])
    ((again,),) = await control_plane.commit_objects([gone])
    assert not again.errors
    clock.ms += DAY_MS // 2
    await control_plane.commit_objects([object_of({partition: [plain()]})])
    await control_plane.forget_objects([(await committed_and_released(control_plane, partition)).object_id])
    (before,) = await control_plane.offset_bounds([partition])
    ((late,),) = await control_plane.commit_objects([gone])
    assert (late.duplicates, list(late.base_offsets)) == (frozenset({0}), [-1])
    assert await control_plane.offset_bounds([partition]) == [before]


async def test_commits_go_on_after_old_objects_were_forgotten(
    control_plane: ControlPlane, clock: HandClock
) -> None:
    partition = await a_partition(control_plane)
    for _ in range(3):
        gone = await committed_and_released(control_plane, partition)
        clock.ms += 400 * DAY_MS
        await control_plane.forget_objects([gone.object_id])
    new = object_of({partition: [plain()]})
    for _ in range(2):
        ((result,),) = await control_plane.commit_objects([new])
        assert (list(result.base_offsets), result.high_watermark) == ([3], 4)
    assert await listed(control_plane) == []


async def test_only_what_was_never_committed_is_condemned(
    control_plane: ControlPlane, clock: HandClock
) -> None:
    partition = await a_partition(control_plane)
    committed = object_of({partition: [plain()]})
    await control_plane.commit_objects([committed])
    orphans = [new_object_id() for _ in range(100)]
    condemned = await control_plane.condemn_objects([*orphans[:50], committed.object_id, *orphans[50:]])
    assert set(condemned) == set(orphans)
    assert await listed(control_plane, clock.ms) == []
    assert set(await listed(control_plane, clock.ms + 1)) == set(orphans)
    assert await control_plane.condemn_objects([]) == []


async def test_condemned_object_keeps_its_time_when_it_is_condemned_again(
    control_plane: ControlPlane, clock: HandClock
) -> None:
    orphan = new_object_id()
    await control_plane.condemn_objects([orphan])
    first_ms = clock.ms
    clock.ms += 1_000
    assert await control_plane.condemn_objects([orphan]) == [orphan]
    assert await listed(control_plane, first_ms + 1) == [orphan]


async def test_condemned_object_can_never_be_committed(control_plane: ControlPlane, clock: HandClock) -> None:
    partition = await a_partition(control_plane)
    late = object_of({partition: [plain(), plain()]})
    await control_plane.condemn_objects([late.object_id])
    refused = {0: ErrorCode.KAFKA_STORAGE_ERROR, 1: ErrorCode.KAFKA_STORAGE_ERROR}
    ((result,),) = await control_plane.commit_objects([late])
    assert (result.errors, list(result.base_offsets)) == (refused, [-1, -1])
    await control_plane.forget_objects([late.object_id])
    clock.ms += 400 * DAY_MS
    other = object_of({partition: [plain()]})
    (taken,), (result,) = await control_plane.commit_objects([other, late])
    assert (list(taken.base_offsets), result.errors) == ([0], refused)
    (bounds,) = await control_plane.offset_bounds([partition])
    assert bounds.high_watermark == 1


async def test_condemned_object_that_comes_back_is_listed_again(
    control_plane: ControlPlane, clock: HandClock
) -> None:
    orphan = new_object_id()
    await control_plane.condemn_objects([orphan])
    assert await control_plane.forget_objects([orphan]) == 1
    assert await listed(control_plane) == []
    clock.ms += DAY_MS
    assert await control_plane.condemn_objects([orphan]) == [orphan]
    assert await listed(control_plane) == [orphan]
    assert await listed(control_plane, clock.ms) == []


async def test_object_that_was_deleted_soon_after_its_commit_is_not_condemned(
    control_plane: ControlPlane,
) -> None:
    gone = await committed_and_released(control_plane, await a_partition(control_plane))
    assert await control_plane.condemn_objects([gone.object_id]) == []
    await control_plane.forget_objects([gone.object_id])
    assert await control_plane.condemn_objects([gone.object_id]) == []


async def test_a_duty_has_one_holder_until_its_lease_is_over(
    control_plane: ControlPlane, clock: HandClock
) -> None:
    assert await control_plane.acquire_duty("sweep", b"one", lease_ms=1_000)
    assert not await control_plane.acquire_duty("sweep", b"two", lease_ms=1_000)
    assert await control_plane.acquire_duty("mop", b"two", lease_ms=1_000)
    clock.ms += 900
    assert await control_plane.acquire_duty("sweep", b"one", lease_ms=1_000)
    clock.ms += 900
    assert not await control_plane.acquire_duty("sweep", b"two", lease_ms=1_000)
    clock.ms += 100
    assert await control_plane.acquire_duty("sweep", b"two", lease_ms=1_000)
    assert not await control_plane.acquire_duty("sweep", b"one", lease_ms=1_000)


async def test_a_duty_can_be_given_back_by_its_holder_only(control_plane: ControlPlane) -> None:
    await control_plane.release_duty("sweep", b"one")
    await control_plane.acquire_duty("sweep", b"one", lease_ms=1_000)
    await control_plane.release_duty("sweep", b"two")
    assert not await control_plane.acquire_duty("sweep", b"two", lease_ms=1_000)
    await control_plane.release_duty("sweep", b"one")
    assert await control_plane.acquire_duty("sweep", b"two", lease_ms=1_000)


async def test_only_unused_producers_expire(control_plane: ControlPlane, clock: HandClock) -> None:
    partition = await a_partition(control_plane)
    for producer_id in (1, 2):
        await control_plane.commit_objects([object_of({partition: [sequenced(0, producer_id=producer_id)]})])
    clock.ms += 1_000
    await control_plane.commit_objects([object_of({partition: [sequenced(1, producer_id=2)]})])
    assert await control_plane.expire_producers(unused_before_ms=clock.ms, count_max=10) == 1
    assert await control_plane.expire_producers(unused_before_ms=clock.ms, count_max=10) == 0
    ((result,),) = await control_plane.commit_objects(
        [object_of({partition: [sequenced(7, producer_id=1), sequenced(7, producer_id=2)]})]
    )
    assert result.errors == {1: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER}


async def test_no_more_producers_expire_at_once_than_asked(
    control_plane: ControlPlane, clock: HandClock
) -> None:
    partition = await a_partition(control_plane)
    await control_plane.commit_objects(
        [object_of({partition: [sequenced(0, producer_id=producer_id) for producer_id in range(5)]})]
    )
    counts = [
        await control_plane.expire_producers(unused_before_ms=clock.ms + 1, count_max=2) for _ in range(4)
    ]
    assert counts == [2, 2, 1, 0]

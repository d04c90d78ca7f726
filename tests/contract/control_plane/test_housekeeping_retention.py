"""What every control plane promises about retention by time and by size."""

from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.types import (
    NO_TIMESTAMP,
    DeleteRecordsRequest,
    FindRequest,
    PartitionId,
    RetentionLimit,
    RetentionResult,
)
from inkless.protocol.error_codes import ErrorCode
from support.coordinator_commits import HandClock, new_topic, new_topic_id, object_of, plain

NO_LIMIT = -1


async def partition_of(plane: ControlPlane, *runs: tuple[int, int, int]) -> PartitionId:
    """A log of runs, each in an object of its own, given as (records, bytes, greatest timestamp)."""
    topic = await plane.create_topic(new_topic(f"topic-{new_topic_id().hex()}"))
    partition = PartitionId(topic.shard, topic.topic_id, 0)
    await plane.commit_objects([object_of({partition: [plain(*run)]}) for run in runs])
    return partition


async def retain(
    plane: ControlPlane, partition: PartitionId, *, keep_since_ms: int = NO_LIMIT, bytes_max: int = NO_LIMIT
) -> int:
    """The log start after as many calls as it takes."""
    log_start = -1
    while True:
        (result,) = await plane.apply_retention([RetentionLimit(partition, keep_since_ms, bytes_max)])
        assert (result.partition, result.error) == (partition, ErrorCode.NONE)
        if result.log_start_offset == log_start:
            return log_start
        log_start = result.log_start_offset


async def unreferenced_count(plane: ControlPlane) -> int:
    return len(await plane.unreferenced_objects(since_before_ms=1 << 60, count_max=1_000))


async def test_without_limits_nothing_goes(control_plane: ControlPlane) -> None:
    partition = await partition_of(control_plane, (3, 100, 1), (2, 100, 2))
    assert await retain(control_plane, partition) == 0
    assert await unreferenced_count(control_plane) == 0


async def test_runs_older_than_the_limit_go_up_to_the_first_that_stays(control_plane: ControlPlane) -> None:
    partition = await partition_of(
        control_plane, (3, 100, 1_000), (2, 100, 1_999), (4, 100, 2_000), (1, 100, 500)
    )
    assert await retain(control_plane, partition, keep_since_ms=2_000) == 5
    assert await unreferenced_count(control_plane) == 2
    (found,) = await control_plane.find_batches([FindRequest(partition, 5, 1_000)], bytes_max=1_000)
    assert (found.log_start_offset, found.high_watermark) == (5, 10)
    assert sum(each.end_offset - each.base_offset for each in found.coordinates) == 5


async def test_a_run_is_as_old_as_its_youngest_record(control_plane: ControlPlane) -> None:
    topic = await control_plane.create_topic(new_topic("events"))
    partition = PartitionId(topic.shard, topic.topic_id, 0)
    mixed = object_of({partition: [plain(1, 10, 5_000), plain(1, 10, 100)]})
    await control_plane.commit_objects([mixed])
    assert await retain(control_plane, partition, keep_since_ms=5_000) == 0
    assert await retain(control_plane, partition, keep_since_ms=5_001) == 2


async def test_everything_may_be_too_old_and_the_log_goes_on_at_the_high_watermark(
    control_plane: ControlPlane,
) -> None:
    partition = await partition_of(control_plane, (3, 100, 1_000), (2, 100, 1_000))
    assert await retain(control_plane, partition, keep_since_ms=9_000) == 5
    ((result,),) = await control_plane.commit_objects([object_of({partition: [plain(1)]})])
    assert (list(result.base_offsets), result.log_start_offset) == ([5], 5)


async def test_records_without_timestamps_are_as_old_as_their_commit(
    control_plane: ControlPlane, clock: HandClock
) -> None:
    partition = await partition_of(control_plane, (1, 100, NO_TIMESTAMP))
    assert await retain(control_plane, partition, keep_since_ms=clock.ms) == 0
    assert await retain(control_plane, partition, keep_since_ms=clock.ms + 1) == 1


async def test_runs_go_while_enough_bytes_are_left_behind_them(control_plane: ControlPlane) -> None:
    partition = await partition_of(control_plane, (1, 100, 1), (1, 50, 1), (1, 60, 1), (1, 40, 1))
    assert await retain(control_plane, partition, bytes_max=250) == 0
    assert await retain(control_plane, partition, bytes_max=151) == 0
    assert await retain(control_plane, partition, bytes_max=150) == 1
    assert await retain(control_plane, partition, bytes_max=99) == 2
    assert await retain(control_plane, partition, bytes_max=0) == 4


async def test_what_was_deleted_before_does_not_count_towards_the_size(control_plane: ControlPlane) -> None:
    partition = await partition_of(control_plane, (1, 1_000, 1), (1, 100, 1), (1, 100, 1))
    await control_plane.delete_records([DeleteRecordsRequest(partition, 1)])
    assert await retain(control_plane, partition, bytes_max=150) == 1
    assert await retain(control_plane, partition, bytes_max=100) == 2


async def test_either_limit_suffices(control_plane: ControlPlane) -> None:
    partition = await partition_of(control_plane, (1, 100, 1), (1, 100, 9), (1, 100, 9))
    assert await retain(control_plane, partition, keep_since_ms=5, bytes_max=200) == 1
    assert await retain(control_plane, partition, keep_since_ms=5, bytes_max=150) == 1
    assert await retain(control_plane, partition, keep_since_ms=5, bytes_max=100) == 2


async def test_log_start_inside_a_run_moves_only_past_its_end(control_plane: ControlPlane) -> None:
    partition = await partition_of(control_plane, (10, 100, 1_000), (10, 100, 3_000))
    await control_plane.delete_records([DeleteRecordsRequest(partition, 4)])
    assert await retain(control_plane, partition, keep_since_ms=1_000) == 4
    assert await retain(control_plane, partition, keep_since_ms=2_000) == 10
    assert await retain(control_plane, partition, keep_since_ms=1) == 10


async def test_an_object_stays_while_another_partition_has_a_run_in_it(
    control_plane: ControlPlane, clock: HandClock
) -> None:
    topic = await control_plane.create_topic(new_topic("events", 2))
    first, second = (PartitionId(topic.shard, topic.topic_id, index) for index in range(2))
    shared = object_of({first: [plain(1, 10, 100)], second: [plain(1, 10, 900)]})
    await control_plane.commit_objects([shared])
    limits = [RetentionLimit(first, 500, NO_LIMIT), RetentionLimit(second, 500, NO_LIMIT)]
    results = await control_plane.apply_retention(limits)
    assert [result.log_start_offset for result in results] == [1, 0]
    assert await unreferenced_count(control_plane) == 0
    clock.ms += 1_000
    await control_plane.apply_retention([RetentionLimit(second, 901, NO_LIMIT)])
    (found,) = await control_plane.unreferenced_objects(since_before_ms=1 << 60, count_max=10)
    assert (found.object_id, found.since_ms) == (shared.object_id, clock.ms)


async def test_answers_come_in_the_order_asked_and_unknown_partitions_do_not_stop_the_others(
    control_plane: ControlPlane,
) -> None:
    full = await partition_of(control_plane, (2, 100, 1))
    empty = await partition_of(control_plane)
    unknown = PartitionId(0, new_topic_id(), 0)
    results = await control_plane.apply_retention(
        [RetentionLimit(partition, 1_000, NO_LIMIT) for partition in (unknown, full, empty)]
    )
    assert results == [
        RetentionResult(unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
        RetentionResult(full, ErrorCode.NONE, 2),
        RetentionResult(empty, ErrorCode.NONE, 0),
    ]
    assert await control_plane.apply_retention([]) == []


async def test_long_logs_are_worked_off_call_by_call(control_plane: ControlPlane) -> None:
    runs = 300
    partition = await partition_of(control_plane, *((1, 10, index) for index in range(runs)))
    assert await retain(control_plane, partition, keep_since_ms=runs - 1) == runs - 1
    assert await retain(control_plane, partition, bytes_max=0) == runs

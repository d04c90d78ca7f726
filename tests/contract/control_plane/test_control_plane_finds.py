"""What every control plane promises about finding batches, by offset and by timestamp, and deleting them."""

from collections.abc import Sequence

import pytest

from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.types import (
    BatchFacts,
    Coordinates,
    DeleteRecordsRequest,
    FindRequest,
    FindResult,
    ObjectCommit,
    PartitionId,
)
from inkless.protocol.error_codes import ErrorCode
from support.coordinator_commits import HandClock, new_topic, new_topic_id, object_of, plain, sequenced

PLENTY = 1 << 30


async def partitions_of(plane: ControlPlane, count: int = 1, name: str = "events") -> list[PartitionId]:
    topic = await plane.create_topic(new_topic(name, count))
    return [PartitionId(topic.shard, topic.topic_id, index) for index in range(count)]


async def commit(plane: ControlPlane, partition: PartitionId, *batches: BatchFacts) -> ObjectCommit:
    committed = object_of({partition: batches})
    await plane.commit_objects([committed])
    return committed


async def find(
    plane: ControlPlane, partition: PartitionId, offset: int, bytes_max: int = PLENTY
) -> FindResult:
    (result,) = await plane.find_batches([FindRequest(partition, offset, bytes_max)], bytes_max=PLENTY)
    return result


def spans(coordinates: Sequence[Coordinates]) -> list[tuple[int, int, int, int]]:
    return [(c.base_offset, c.end_offset, c.byte_start, c.byte_end) for c in coordinates]


async def test_coordinates_tell_all_about_the_run(control_plane: ControlPlane, clock: HandClock) -> None:
    first, second = await partitions_of(control_plane, 2)
    await control_plane.commit_objects([object_of({second: [plain(4)]})])
    committed = object_of({first: [plain(1, 50)], second: [plain(2, 70), plain(3, 80)]})
    await control_plane.commit_objects([committed])
    result = await find(control_plane, second, 6)
    assert (result.error, result.log_start_offset, result.high_watermark) == (ErrorCode.NONE, 0, 9)
    assert list(result.coordinates) == [
        Coordinates(
            object_id=committed.object_id,
            key=committed.key,
            object_byte_length=200,
            committed_ms=clock.ms,
            run_byte_start=50,
            run_byte_end=200,
            run_base_offset=4,
            byte_start=120,
            byte_end=200,
            base_offset=6,
            end_offset=9,
        )
    ]


@pytest.mark.parametrize(("offset", "first"), [(0, 0), (1, 0), (4, 0), (5, 5), (6, 6), (8, 6), (9, 9)])
async def test_first_batch_is_the_one_that_holds_the_offset(
    control_plane: ControlPlane, offset: int, first: int
) -> None:
    (partition,) = await partitions_of(control_plane)
    await commit(control_plane, partition, plain(5), plain(1))
    await commit(control_plane, partition, plain(3), plain(2))
    result = await find(control_plane, partition, offset)
    assert result.coordinates[0].base_offset == first
    assert result.coordinates[-1].end_offset == 11


async def test_at_the_high_watermark_there_is_nothing(control_plane: ControlPlane) -> None:
    (partition,) = await partitions_of(control_plane)
    assert await find(control_plane, partition, 0) == FindResult(partition, ErrorCode.NONE, 0, 0, [])
    await commit(control_plane, partition, plain(5))
    assert await find(control_plane, partition, 5) == FindResult(partition, ErrorCode.NONE, 0, 5, [])


@pytest.mark.parametrize("offset", [-1, 1, 6])
async def test_offset_outside_the_log_is_out_of_range(control_plane: ControlPlane, offset: int) -> None:
    (partition,) = await partitions_of(control_plane)
    await commit(control_plane, partition, plain(5))
    await control_plane.delete_records([DeleteRecordsRequest(partition, 2)])
    result = await find(control_plane, partition, offset)
    assert result == FindResult(partition, ErrorCode.OFFSET_OUT_OF_RANGE, 2, 5, [])


async def test_unknown_partition_is_an_error_of_its_own(control_plane: ControlPlane) -> None:
    (partition,) = await partitions_of(control_plane)
    await commit(control_plane, partition, plain())
    unknown = [PartitionId(0, new_topic_id(), 0), partition._replace(index=9), partition._replace(shard=3)]
    results = await control_plane.find_batches(
        [FindRequest(each, 0, 100) for each in (*unknown, partition)], bytes_max=PLENTY
    )
    assert [result.error for result in results] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 3 + [
        ErrorCode.NONE
    ]
    assert len(results[3].coordinates) == 1


async def test_partition_gets_whole_batches_up_to_its_bytes(control_plane: ControlPlane) -> None:
    (partition,) = await partitions_of(control_plane)
    await commit(control_plane, partition, *[plain(1, 100)] * 10)
    await commit(control_plane, partition, *[plain(1, 100)] * 10)
    for bytes_max, batches in [(100, 1), (199, 1), (200, 2), (1000, 10), (1099, 10), (1100, 11), (9999, 20)]:
        result = await find(control_plane, partition, 0, bytes_max)
        assert sum(c.byte_end - c.byte_start for c in result.coordinates) == 100 * batches
        assert result.coordinates[-1].end_offset == batches


async def test_nothing_is_left_out_to_make_smaller_batches_fit(control_plane: ControlPlane) -> None:
    first, second = await partitions_of(control_plane, 2)
    await commit(control_plane, first, plain(1, 300))
    await commit(control_plane, second, plain(1, 50), plain(1, 100))
    await commit(control_plane, second, plain(1, 50))
    requests = [FindRequest(first, 0, 400), FindRequest(second, 0, 400)]
    _, result = await control_plane.find_batches(requests, bytes_max=400)
    assert spans(result.coordinates) == [(0, 1, 0, 50)]


async def test_first_batch_is_returned_however_large(control_plane: ControlPlane) -> None:
    first, second = await partitions_of(control_plane, 2)
    await control_plane.commit_objects([object_of({first: [plain(1, 5000)] * 2, second: [plain(1, 5000)]})])
    requests = [FindRequest(first, 0, 10), FindRequest(second, 0, 10)]
    one, two = await control_plane.find_batches(requests, bytes_max=10)
    assert spans(one.coordinates) == [(0, 1, 0, 5000)]
    assert list(two.coordinates) == []


async def test_first_partition_that_has_any_gets_a_batch_when_those_before_are_empty(
    control_plane: ControlPlane,
) -> None:
    empty, full = await partitions_of(control_plane, 2)
    await commit(control_plane, full, plain(1, 5000))
    results = await control_plane.find_batches(
        [FindRequest(empty, 0, 10), FindRequest(full, 0, 10)], bytes_max=0
    )
    assert [len(result.coordinates) for result in results] == [0, 1]


async def test_total_is_spent_in_the_order_of_the_requests(control_plane: ControlPlane) -> None:
    first, second, third = partitions = await partitions_of(control_plane, 3)
    await control_plane.commit_objects([object_of({each: [plain(1, 100)] * 10 for each in partitions})])
    requests = [FindRequest(second, 0, 300), FindRequest(third, 0, 1000), FindRequest(first, 0, 1000)]
    results = await control_plane.find_batches(requests, bytes_max=1000)
    assert [result.partition for result in results] == [second, third, first]
    assert [sum(c.end_offset - c.base_offset for c in result.coordinates) for result in results] == [3, 7, 0]


async def test_deep_reader_gets_as_many_runs_as_its_bytes_allow(control_plane: ControlPlane) -> None:
    first, second = await partitions_of(control_plane, 2)
    await control_plane.commit_objects(
        [object_of({first: [plain(1, 10)], second: [plain(2, 10)]}) for _ in range(300)]
    )
    one, two = await control_plane.find_batches(
        [FindRequest(first, 20, PLENTY), FindRequest(second, 0, 1500)], bytes_max=PLENTY
    )
    assert [c.base_offset for c in one.coordinates] == list(range(20, 300))
    assert [c.base_offset for c in two.coordinates] == list(range(0, 300, 2))


async def test_batches_around_a_refused_one_are_found_at_their_bytes(control_plane: ControlPlane) -> None:
    (partition,) = await partitions_of(control_plane)
    await commit(
        control_plane,
        partition,
        sequenced(0, 2, byte_length=10),
        sequenced(9, 2, byte_length=20),
        sequenced(2, 2, byte_length=40),
        sequenced(2, 2, byte_length=40),
        plain(1, 80),
    )
    result = await find(control_plane, partition, 0)
    assert spans(result.coordinates) == [(0, 2, 0, 10), (2, 4, 30, 70), (4, 5, 110, 190)]


async def test_offset_bounds_answer_in_the_order_asked(control_plane: ControlPlane) -> None:
    first, second = await partitions_of(control_plane, 2)
    missing = PartitionId(0, new_topic_id(), 0)
    await commit(control_plane, second, plain(4))
    assert await control_plane.offset_bounds([second, missing, first]) == [
        (second, ErrorCode.NONE, 0, 4),
        (missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1),
        (first, ErrorCode.NONE, 0, 0),
    ]


async def test_timestamp_leads_to_the_first_run_that_is_not_older(control_plane: ControlPlane) -> None:
    (partition,) = await partitions_of(control_plane)
    for timestamp_ms in (100, 300, 200, 300, 500):
        await commit(control_plane, partition, plain(2, 10, timestamp_ms - 50), plain(2, 10, timestamp_ms))
    lookups = [(0, 0), (100, 0), (101, 4), (250, 4), (300, 4), (301, 16), (500, 16), (501, None)]
    hits = await control_plane.find_by_timestamp([(partition, each) for each, _ in lookups])
    assert [hit.coordinates.base_offset if hit.coordinates else None for hit in hits] == [
        offset for _, offset in lookups
    ]
    found = hits[1].coordinates
    assert found is not None
    assert spans([found]) == [(0, 4, 0, 20)]
    assert {(hit.log_start_offset, hit.high_watermark, hit.error) for hit in hits} == {
        (0, 20, ErrorCode.NONE)
    }


async def test_timestamps_of_forgotten_runs_lead_nowhere(control_plane: ControlPlane) -> None:
    (partition,) = await partitions_of(control_plane)
    for timestamp_ms in (900, 100, 300, 200):
        await commit(control_plane, partition, plain(1, 10, timestamp_ms))
    await control_plane.delete_records([DeleteRecordsRequest(partition, 1)])
    hits = await control_plane.find_by_timestamp([(partition, each) for each in (50, 200, 300, 301, 900)])
    assert [hit.coordinates.base_offset if hit.coordinates else None for hit in hits] == [1, 2, 2, None, None]
    (greatest,) = await control_plane.find_max_timestamp([partition])
    assert greatest.coordinates is not None
    assert greatest.coordinates.base_offset == 2


async def test_greatest_timestamp_is_found_in_the_first_run_that_has_it(control_plane: ControlPlane) -> None:
    first, empty = await partitions_of(control_plane, 2)
    missing = PartitionId(0, new_topic_id(), 0)
    for timestamp_ms in (100, 700, 200, 700, 300):
        await commit(control_plane, first, plain(1, 10, timestamp_ms))
    hits = await control_plane.find_max_timestamp([empty, first, missing])
    assert [hit.error for hit in hits] == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert [hit.coordinates.base_offset if hit.coordinates else None for hit in hits] == [None, 1, None]


async def test_log_start_moves_forward_and_never_back(control_plane: ControlPlane) -> None:
    (partition,) = await partitions_of(control_plane)
    await commit(control_plane, partition, plain(5), plain(5))
    answers = [
        (await control_plane.delete_records([DeleteRecordsRequest(partition, offset)]))[0]
        for offset in (3, 7, 4, 11, -2, -1)
    ]
    assert [(answer.error, answer.log_start_offset) for answer in answers] == [
        (ErrorCode.NONE, 3),
        (ErrorCode.NONE, 7),
        (ErrorCode.NONE, 7),
        (ErrorCode.OFFSET_OUT_OF_RANGE, -1),
        (ErrorCode.OFFSET_OUT_OF_RANGE, -1),
        (ErrorCode.NONE, 10),
    ]
    await commit(control_plane, partition, plain(1))
    assert (await find(control_plane, partition, 10)).coordinates[0].base_offset == 10


async def test_delete_records_answers_in_the_order_asked(control_plane: ControlPlane) -> None:
    first, second = await partitions_of(control_plane, 2)
    missing = PartitionId(0, new_topic_id(), 0)
    await control_plane.commit_objects([object_of({first: [plain(5)], second: [plain(5)]})])
    requests = [(second, 2), (missing, 0), (first, -1)]
    assert await control_plane.delete_records([DeleteRecordsRequest(*each) for each in requests]) == [
        (second, ErrorCode.NONE, 2),
        (missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
        (first, ErrorCode.NONE, 5),
    ]


async def test_run_that_the_log_start_cuts_stays_readable(control_plane: ControlPlane) -> None:
    (partition,) = await partitions_of(control_plane)
    await commit(control_plane, partition, plain(2, 10), plain(4, 10))
    await control_plane.delete_records([DeleteRecordsRequest(partition, 3)])
    result = await find(control_plane, partition, 3)
    assert spans(result.coordinates) == [(2, 6, 10, 20)]


async def test_object_is_recorded_for_deletion_with_its_last_run(
    control_plane: ControlPlane, clock: HandClock
) -> None:
    first, second = await partitions_of(control_plane, 2)
    shared = object_of({first: [plain(2)], second: [plain(3)]})
    await control_plane.commit_objects([shared])
    await control_plane.delete_records([DeleteRecordsRequest(first, -1)])
    clock.ms += 1_000
    assert await control_plane.unreferenced_objects(since_before_ms=1 << 60, count_max=10) == []
    await control_plane.delete_records([DeleteRecordsRequest(second, 2)])
    assert await control_plane.unreferenced_objects(since_before_ms=1 << 60, count_max=10) == []
    await control_plane.delete_records([DeleteRecordsRequest(second, 3)])
    found = await control_plane.unreferenced_objects(since_before_ms=1 << 60, count_max=10)
    assert found == [(shared.object_id, shared.key, shared.byte_length, clock.ms)]

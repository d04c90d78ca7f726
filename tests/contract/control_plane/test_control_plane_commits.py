"""What every control plane promises about commits and idempotent producers."""

import pytest

from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.types import BatchFacts, ObjectCommit, PartitionId, RunCommit, RunResult
from inkless.protocol.error_codes import ErrorCode
from support.coordinator_commits import (
    HandClock,
    new_object_id,
    new_topic,
    new_topic_id,
    object_of,
    plain,
    sequenced,
)

LAST_SEQUENCE = 2**31 - 1


async def partitions_of(plane: ControlPlane, count: int = 1, name: str = "events") -> list[PartitionId]:
    topic = await plane.create_topic(new_topic(name, count))
    return [PartitionId(topic.shard, topic.topic_id, index) for index in range(count)]


async def commit(plane: ControlPlane, partition: PartitionId, *batches: BatchFacts) -> RunResult:
    ((result,),) = await plane.commit_objects([object_of({partition: batches})])
    return result


async def test_offsets_follow_each_other_within_and_across_objects(control_plane: ControlPlane) -> None:
    first, second = await partitions_of(control_plane, 2)
    answers = await control_plane.commit_objects(
        [
            object_of({first: [plain(3), plain(2)], second: [plain(10)]}),
            object_of({first: [plain(1)], second: [plain(1), plain(4), plain(1)]}),
        ]
    )
    assert [[list(run.base_offsets) for run in answer] for answer in answers] == [
        [[0, 3], [0]],
        [[5], [10, 11, 15]],
    ]
    assert [[run.high_watermark for run in answer] for answer in answers] == [[5, 10], [6, 16]]
    assert [[run.partition for run in answer] for answer in answers] == [[first, second], [first, second]]


async def test_repeated_commit_gets_the_first_answer_even_after_later_commits(
    control_plane: ControlPlane,
) -> None:
    first, second = await partitions_of(control_plane, 2)
    missing = PartitionId(0, new_topic_id(), 0)
    await commit(control_plane, first, sequenced(0), sequenced(1))
    mixed = object_of(
        {
            first: [sequenced(1), plain(4), sequenced(9), sequenced(2)],
            second: [plain(2), plain(3)],
            missing: [plain(), plain()],
        }
    )
    answers = await control_plane.commit_objects([mixed])
    await commit(control_plane, first, plain(5))
    assert await control_plane.commit_objects([mixed]) == answers
    (bounds,) = await control_plane.offset_bounds([first])
    assert bounds.high_watermark == 2 + 4 + 1 + 5


async def test_object_given_twice_in_one_call_is_committed_once(control_plane: ControlPlane) -> None:
    (partition,) = await partitions_of(control_plane)
    same = object_of({partition: [plain(3)]})
    one, two = await control_plane.commit_objects([same, same])
    assert one == two
    (bounds,) = await control_plane.offset_bounds([partition])
    assert bounds.high_watermark == 3


async def test_answer_that_was_forgotten_is_still_a_repetition(
    control_plane: ControlPlane, clock: HandClock
) -> None:
    (partition,) = await partitions_of(control_plane)
    old = object_of({partition: [plain(3), plain(1)]})
    await control_plane.commit_objects([old])
    clock.ms += 24 * 3_600_000
    await commit(control_plane, partition, plain())
    ((result,),) = await control_plane.commit_objects([old])
    assert list(result.base_offsets) == [-1, -1]
    assert result.duplicates == {0, 1}
    (bounds,) = await control_plane.offset_bounds([partition])
    assert bounds.high_watermark == 5


async def test_unknown_partitions_are_refused_and_the_others_committed(control_plane: ControlPlane) -> None:
    (partition,) = await partitions_of(control_plane)
    unknown = [
        PartitionId(0, new_topic_id(), 0),
        partition._replace(index=1),
        partition._replace(shard=partition.shard + 1),
    ]
    (answer,) = await control_plane.commit_objects(
        [
            object_of(
                {
                    unknown[0]: [plain(), plain()],
                    partition: [plain(2)],
                    unknown[1]: [plain()],
                    unknown[2]: [plain()],
                }
            )
        ]
    )
    refused = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [run.errors for run in answer] == [{0: refused, 1: refused}, {}, {0: refused}, {0: refused}]
    assert [list(run.base_offsets) for run in answer] == [[-1, -1], [0], [-1], [-1]]


async def test_object_of_which_nothing_was_accepted_is_recorded_for_deletion(
    control_plane: ControlPlane, clock: HandClock
) -> None:
    refused = object_of({PartitionId(0, new_topic_id(), 0): [plain()]})
    await control_plane.commit_objects([refused])
    (found,) = await control_plane.unreferenced_objects(since_before_ms=clock.ms + 1, count_max=10)
    assert found == (refused.object_id, refused.key, refused.byte_length, clock.ms)
    assert await control_plane.unreferenced_objects(since_before_ms=clock.ms, count_max=10) == []


async def test_empty_commit_and_empty_run_are_answered(control_plane: ControlPlane) -> None:
    (partition,) = await partitions_of(control_plane)
    assert await control_plane.commit_objects([]) == []
    empty = ObjectCommit(new_object_id(), "objects/empty", 0, 1, [RunCommit(partition, 0, [])])
    answers = await control_plane.commit_objects([empty])
    assert [list(run.base_offsets) for run in answers[0]] == [[]]
    assert await control_plane.commit_objects([empty]) == answers


async def test_retry_of_a_sequenced_batch_gets_its_first_offset_and_takes_none(
    control_plane: ControlPlane,
) -> None:
    (partition,) = await partitions_of(control_plane)
    await commit(control_plane, partition, plain(10), sequenced(0, 3))
    result = await commit(control_plane, partition, sequenced(0, 3), sequenced(3, 2))
    assert list(result.base_offsets) == [10, 13]
    assert result.duplicates == {0}
    assert not result.errors
    assert result.high_watermark == 15


async def test_retry_within_the_same_call_is_recognised(control_plane: ControlPlane) -> None:
    (partition,) = await partitions_of(control_plane)
    result = await commit(control_plane, partition, sequenced(0, 3), sequenced(0, 3))
    assert (list(result.base_offsets), result.duplicates) == ([0, 0], frozenset({1}))
    (one,), (two,) = await control_plane.commit_objects(
        [object_of({partition: [sequenced(3)]}), object_of({partition: [sequenced(3)]})]
    )
    assert (list(one.base_offsets), one.duplicates) == ([3], frozenset())
    assert (list(two.base_offsets), two.duplicates) == ([3], frozenset({0}))


async def test_five_batches_are_remembered_and_older_ones_are_known_as_old(
    control_plane: ControlPlane,
) -> None:
    (partition,) = await partitions_of(control_plane)
    for sequence in range(7):
        await commit(control_plane, partition, sequenced(sequence))
    result = await commit(control_plane, partition, *(sequenced(sequence) for sequence in range(7)))
    assert list(result.base_offsets) == [-1, -1, 2, 3, 4, 5, 6]
    assert result.errors == dict.fromkeys((0, 1), ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
    assert result.duplicates == {2, 3, 4, 5, 6}


async def test_gap_is_refused_and_what_follows_in_sequence_is_taken(control_plane: ControlPlane) -> None:
    (partition,) = await partitions_of(control_plane)
    result = await commit(control_plane, partition, sequenced(0, 2), sequenced(3), sequenced(2))
    assert list(result.base_offsets) == [0, -1, 2]
    assert result.errors == {1: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER}


async def test_retry_with_another_extent_is_out_of_order(control_plane: ControlPlane) -> None:
    (partition,) = await partitions_of(control_plane)
    await commit(control_plane, partition, sequenced(0, 3))
    result = await commit(control_plane, partition, sequenced(0, 2))
    assert result.errors == {0: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER}


async def test_producer_without_state_may_begin_anywhere(control_plane: ControlPlane) -> None:
    (partition,) = await partitions_of(control_plane)
    result = await commit(control_plane, partition, sequenced(41), sequenced(40))
    assert list(result.base_offsets) == [0, -1]
    assert result.errors == {1: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER}


async def test_sequences_go_on_with_zero_after_the_last(control_plane: ControlPlane) -> None:
    (partition,) = await partitions_of(control_plane)
    result = await commit(
        control_plane,
        partition,
        sequenced(LAST_SEQUENCE - 1, 4),
        sequenced(2, 1),
        sequenced(LAST_SEQUENCE - 1, 4),
    )
    assert list(result.base_offsets) == [0, 4, 0]
    assert result.duplicates == {2}
    exact = await commit(
        control_plane, partition, sequenced(LAST_SEQUENCE, producer_id=8), sequenced(0, producer_id=8)
    )
    assert not exact.errors


async def test_new_epoch_begins_at_zero_and_fences_the_old_one(control_plane: ControlPlane) -> None:
    (partition,) = await partitions_of(control_plane)
    await commit(control_plane, partition, sequenced(0), sequenced(1))
    result = await commit(
        control_plane,
        partition,
        sequenced(2, epoch=1),
        sequenced(0, epoch=1),
        sequenced(2, epoch=0),
        sequenced(1, epoch=0),
        sequenced(1, epoch=1),
    )
    assert list(result.base_offsets) == [-1, 2, -1, -1, 3]
    assert result.errors == {
        0: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        2: ErrorCode.INVALID_PRODUCER_EPOCH,
        3: ErrorCode.INVALID_PRODUCER_EPOCH,
    }


async def test_producers_are_known_by_partition(control_plane: ControlPlane) -> None:
    first, second = await partitions_of(control_plane, 2)
    await commit(control_plane, first, sequenced(0))
    result = await commit(control_plane, second, sequenced(0))
    assert not result.duplicates
    result = await commit(control_plane, first, sequenced(0, producer_id=8))
    assert not result.duplicates


@pytest.mark.parametrize("batches", [1, 2, 300])
async def test_runs_of_every_length_are_found_as_committed(control_plane: ControlPlane, batches: int) -> None:
    (partition,) = await partitions_of(control_plane)
    result = await commit(
        control_plane, partition, *(plain(index % 5 + 1, index * 7 + 61) for index in range(batches))
    )
    assert list(result.base_offsets) == [sum(i % 5 + 1 for i in range(index)) for index in range(batches)]
    (bounds,) = await control_plane.offset_bounds([partition])
    assert bounds.high_watermark == sum(index % 5 + 1 for index in range(batches))

"""Offsets go into the cached bytes once, into the right places, and only into bytes that are whole."""

import pytest

from inkless.coordinator.types import (
    BatchFacts,
    Coordinates,
    ObjectId,
    PartitionId,
    RunCommit,
    RunResult,
    TopicId,
)
from inkless.errors import CorruptData
from inkless.fetch.stamping import stamp_committed, stamp_run
from inkless.protocol.error_codes import ErrorCode
from inkless.records.header import ATTRIBUTES_AT, BATCH_LENGTH_AT, LEADER_EPOCH_AT, MAGIC_AT, iter_headers
from support.data_path_broker import batch_of

PARTITION = PartitionId(0, TopicId(bytes(16)), 0)
BATCHES = [batch_of(1), batch_of(2, 3), batch_of(4), batch_of(5, 6, 7)]


def coordinates(byte_length: int) -> Coordinates:
    return Coordinates(
        ObjectId(bytes(16)), "wal/key", byte_length, 0, 0, byte_length, 0, 0, byte_length, 0, 0
    )


def run_commit(byte_start: int) -> RunCommit:
    counts = (1, 2, 1, 3)
    facts = [BatchFacts(len(batch), count, 1) for batch, count in zip(BATCHES, counts, strict=True)]
    return RunCommit(PARTITION, byte_start, facts)


def writable(*batches: bytes) -> memoryview:
    return memoryview(bytearray(b"".join(batches)))


def base_offsets(content: memoryview) -> list[int]:
    return [header.base_offset for _, header in iter_headers(content)]


def starts() -> list[int]:
    return [sum(map(len, BATCHES[:count])) for count in range(len(BATCHES) + 1)]


def test_a_committed_run_carries_its_offsets() -> None:
    content = writable(*BATCHES)
    entry = stamp_committed(content, [run_commit(0)], [RunResult(PARTITION, [10, 11, 13, 14], 0, 17)])
    assert base_offsets(entry.content) == [10, 11, 13, 14]
    assert entry.stamped_runs == {0}


@pytest.mark.parametrize(
    ("errors", "duplicates", "offsets", "new_starts"),
    [
        ({1: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER}, frozenset(), [10, -1, 11, 12], {2}),
        ({}, frozenset({1}), [10, 5, 11, 12], {2}),
        ({}, frozenset({0}), [5, 10, 12, 13], {1}),
        ({1: ErrorCode.INVALID_PRODUCER_EPOCH}, frozenset({2}), [10, -1, 3, 11], {2, 3}),
        ({}, frozenset({3}), [10, 11, 13, 2], set()),
    ],
)
def test_what_follows_a_skipped_batch_is_a_run_of_its_own(
    errors: dict[int, ErrorCode], duplicates: frozenset[int], offsets: list[int], new_starts: set[int]
) -> None:
    content = writable(*BATCHES)
    result = RunResult(PARTITION, offsets, 0, 17, errors, duplicates)
    entry = stamp_committed(content, [run_commit(0)], [result])
    assert base_offsets(entry.content) == offsets
    assert {starts()[place] for place in new_starts} <= entry.stamped_runs


def test_a_run_whose_offsets_the_coordinator_has_forgotten_is_not_taken_for_stamped() -> None:
    content = writable(*BATCHES)
    result = RunResult(PARTITION, [-1] * 4, -1, -1, duplicates=frozenset(range(4)))
    entry = stamp_committed(content, [run_commit(0)], [result])
    assert entry.stamped_runs == set()


def test_a_run_from_storage_is_given_offsets_and_leader_epoch() -> None:
    content = writable(*BATCHES)
    stamp_run(content, 100, coordinates(len(content)))
    assert [(header.base_offset, header.leader_epoch) for _, header in iter_headers(content)] == [
        (100, 0),
        (101, 0),
        (103, 0),
        (104, 0),
    ]


def test_every_damaged_byte_that_matters_is_noticed() -> None:
    whole = b"".join(BATCHES[:2])
    for position in range(len(whole)):
        content = writable(whole)
        content[position] ^= 0x10
        where = position if position < len(BATCHES[0]) else position - len(BATCHES[0])
        if where < BATCH_LENGTH_AT or LEADER_EPOCH_AT <= where < MAGIC_AT:
            # Not under the CRC, and set anew.
            stamp_run(content, 7, coordinates(len(whole)))
            expected = writable(whole)
            stamp_run(expected, 7, coordinates(len(whole)))
            assert content == expected
        else:
            with pytest.raises(CorruptData):
                stamp_run(content, 7, coordinates(len(whole)))


def test_half_a_batch_is_corrupt() -> None:
    content = writable(BATCHES[0], BATCHES[1][: ATTRIBUTES_AT + 40])
    with pytest.raises(CorruptData):
        stamp_run(content, 0, coordinates(len(content)))

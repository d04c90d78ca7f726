import pytest

from inkless.coordinator.commit_answer import forgotten_answer, pack_answer, unpack_answer
from inkless.coordinator.types import PartitionId, RunResult
from inkless.errors import InvariantViolated
from inkless.protocol.error_codes import ErrorCode
from support.coordinator_commits import new_topic_id, object_of, plain

FIRST, SECOND = (PartitionId(0, new_topic_id(), index) for index in range(2))


def test_answer_comes_back_as_it_was_given() -> None:
    commit = object_of({FIRST: [plain(3), plain(2)], SECOND: [plain(1), plain(1), plain(1)]})
    results = [
        RunResult(FIRST, [2**40, 2**40 + 3], 7, 2**40 + 5),
        RunResult(
            SECOND, [5, -1, 3], 0, 6, {1: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER}, duplicates=frozenset({2})
        ),
    ]
    assert unpack_answer(pack_answer(results), commit) == results


def test_plain_answer_takes_few_bytes_however_many_batches_it_has() -> None:
    answer = [RunResult(FIRST, list(range(1000)), 0, 1000)]
    assert len(pack_answer(answer)) < 40


def test_repetition_with_other_runs_is_our_bug() -> None:
    blob = pack_answer([RunResult(FIRST, [0], 0, 1)])
    with pytest.raises(InvariantViolated):
        unpack_answer(blob, object_of({FIRST: [plain()], SECOND: [plain()]}))


def test_forgotten_answer_calls_every_batch_a_duplicate_at_an_unknown_offset() -> None:
    (result,) = forgotten_answer(object_of({FIRST: [plain(), plain()]}))
    assert result == RunResult(FIRST, [-1, -1], -1, -1, {}, frozenset({0, 1}))

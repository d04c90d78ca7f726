import pytest

from inkless.coordinator.producer_state import (
    ProducerState,
    RememberedBatch,
    judge_batch,
    pack_batches,
    remember_batch,
    unpack_batches,
)
from inkless.protocol.error_codes import ErrorCode
from support.coordinator_commits import sequenced

LAST = 2**31 - 1


def state_after(*sequences: tuple[int, int]) -> ProducerState:
    """Batches given as (first sequence, record count), each at the offset 1000 + its position."""
    state = None
    for position, (sequence, count) in enumerate(sequences):
        state = remember_batch(state, sequenced(sequence, count), base_offset=1000 + position)
    assert state is not None
    return state


def test_only_the_last_five_batches_are_remembered() -> None:
    state = state_after(*((sequence, 1) for sequence in range(9)))
    assert [batch.first_sequence for batch in state.batches] == [4, 5, 6, 7, 8]


def test_new_epoch_remembers_nothing_of_the_old() -> None:
    state = remember_batch(state_after((0, 1), (1, 1)), sequenced(0, epoch=1), base_offset=5)
    assert state == ProducerState(1, (RememberedBatch(0, 0, 5),))


@pytest.mark.parametrize(
    ("before", "sequence", "count", "verdict"),
    [
        ([(5, 2)], 7, 1, ErrorCode.NONE),
        ([(5, 2)], 8, 1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ([(5, 2)], 4, 1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ([(LAST, 1)], 0, 1, ErrorCode.NONE),
        ([(LAST - 1, 3)], 1, 1, ErrorCode.NONE),
        ([(LAST - 1, 1)], 0, 1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        # Five remembered batches: what ends before them is a retry too old to be answered.
        ([(n, 1) for n in range(10, 15)], 9, 1, ErrorCode.DUPLICATE_SEQUENCE_NUMBER),
        ([(n, 1) for n in range(10, 15)], 8, 3, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ([(n, 1) for n in range(10, 15)], 16, 1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ([(n, 1) for n in range(5)], LAST, 1, ErrorCode.DUPLICATE_SEQUENCE_NUMBER),
        ([(n, 1) for n in range(LAST - 4, LAST + 1)], 5, 1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
    ],
)
def test_verdict_follows_the_sequence(
    before: list[tuple[int, int]], sequence: int, count: int, verdict: ErrorCode
) -> None:
    assert judge_batch(state_after(*before), sequenced(sequence, count)) is verdict


def test_retry_is_known_by_its_exact_extent_across_the_wrap() -> None:
    state = state_after((LAST, 3), (2, 1))
    assert judge_batch(state, sequenced(LAST, 3)) == RememberedBatch(LAST, 1, 1000)
    assert judge_batch(state, sequenced(LAST, 2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_batches_come_back_as_they_were_packed() -> None:
    batches = state_after((LAST, 3), (2, 1), (3, 9)).batches
    assert unpack_batches(pack_batches(batches)) == batches

"""What an idempotent producer may append next, by the rules of Kafka's producer state manager.

Pure: a backend loads the state of a (partition, producer id), asks for a verdict, and stores what comes back.
"""

from typing import Final, NamedTuple

from inkless.coordinator.packed_integers import pack_integers, unpack_integers
from inkless.coordinator.types import BatchFacts
from inkless.protocol.error_codes import ErrorCode

BATCHES_REMEMBERED: Final = 5
"""As many requests as an idempotent producer may have in flight."""

_SEQUENCE_COUNT: Final = 2**31
"""After 2^31 - 1 the sequence goes on with 0."""


class RememberedBatch(NamedTuple):
    """A batch that was accepted: its first and last sequence and the offset it was given."""

    first_sequence: int
    last_sequence: int
    base_offset: int


class ProducerState(NamedTuple):
    """A producer's epoch and its last batches in one partition, oldest first; never without a batch."""

    epoch: int
    batches: tuple[RememberedBatch, ...]


def last_sequence(batch: BatchFacts) -> int:
    return (batch.base_sequence + batch.record_count - 1) % _SEQUENCE_COUNT


def judge_batch(state: ProducerState | None, batch: BatchFacts) -> ErrorCode | RememberedBatch:
    """NONE when the batch may be appended, the error when it is refused, or the batch of which it is a retry.

    A producer without state may begin anywhere: its earlier batches may have been removed by retention
    (KIP-360). A new epoch begins at sequence 0.
    """
    if state is None:
        return ErrorCode.NONE
    if batch.producer_epoch != state.epoch:
        if batch.producer_epoch < state.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        return ErrorCode.NONE if batch.base_sequence == 0 else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    if batch.base_sequence == (state.batches[-1].last_sequence + 1) % _SEQUENCE_COUNT:
        return ErrorCode.NONE
    return _judge_repetition(state, batch)


def _judge_repetition(state: ProducerState, batch: BatchFacts) -> ErrorCode | RememberedBatch:
    sequences = (batch.base_sequence, last_sequence(batch))
    for remembered in state.batches:
        if remembered[:2] == sequences:
            return remembered
    # Only with a full memory can there have been older batches in this epoch; the distance is taken on the
    # ring of sequences, and what lies more than half a ring back lies ahead.
    behind = (state.batches[0].first_sequence - sequences[1]) % _SEQUENCE_COUNT
    if len(state.batches) == BATCHES_REMEMBERED and 0 < behind < _SEQUENCE_COUNT // 2:
        return ErrorCode.DUPLICATE_SEQUENCE_NUMBER
    return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def remember_batch(state: ProducerState | None, batch: BatchFacts, *, base_offset: int) -> ProducerState:
    """The state after the batch was appended at `base_offset`."""
    appended = RememberedBatch(batch.base_sequence, last_sequence(batch), base_offset)
    if state is None or state.epoch != batch.producer_epoch:
        return ProducerState(batch.producer_epoch, (appended,))
    return ProducerState(state.epoch, (*state.batches[1 - BATCHES_REMEMBERED :], appended))


def pack_batches(batches: tuple[RememberedBatch, ...]) -> bytes:
    return pack_integers([number for batch in batches for number in batch])


def unpack_batches(blob: bytes) -> tuple[RememberedBatch, ...]:
    numbers = iter(unpack_integers(blob))
    return tuple(map(RememberedBatch, numbers, numbers, numbers))

"""What was sent, what was answered and what was read, and whether the three can be true together.

The checks are the invariants of the design: I1 acknowledged batches stay readable and unchanged, I2 offsets
are dense and unique, I3 order and no second copies, I5 nothing goes back and nobody sees too far.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from inkless.coordinator.types import BatchFacts, PartitionId
from inkless.protocol.error_codes import ErrorCode
from inkless.records.header import MAGIC_AT, iter_headers

# A batch with this answer was neither committed nor will it ever be by this attempt.
DEFINITE_FAILURES = (
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)
UNKNOWN_OUTCOMES = (ErrorCode.REQUEST_TIMED_OUT,)


class Broken(AssertionError):
    """An invariant does not hold."""


def identity(batch: bytes | memoryview) -> bytes:
    """What the producer made; offset and leader epoch before it are the broker's to set."""
    return bytes(batch[MAGIC_AT:])


@dataclass(eq=False, slots=True)
class Attempt:
    """One append of one batch; a retry is another attempt with the same bytes."""

    partition: PartitionId
    content: bytes
    facts: BatchFacts
    connection: int
    error: ErrorCode | None = None
    """None until answered, and for ever when the broker died meanwhile."""
    base_offset: int = -1


class BatchAtOffset(NamedTuple):
    base: int
    end: int
    name: bytes
    """Its identity."""


class Bounds(NamedTuple):
    log_start_offset: int
    high_watermark: int


@dataclass(slots=True)
class PartitionHistory:
    attempts: list[Attempt] = field(default_factory=list)
    seen: dict[int, bytes] = field(default_factory=dict)
    bounds: dict[str, "Bounds"] = field(default_factory=dict)
    """The latest of each observer; answers to several observers may overtake each other."""


class History:
    """Fed by everybody who talks to the broker; raises `Broken` as soon as something cannot be."""

    def __init__(self) -> None:
        self._partitions: dict[PartitionId, PartitionHistory] = {}
        self._by_identity: dict[tuple[PartitionId, bytes], list[Attempt]] = {}

    def partition(self, partition: PartitionId) -> PartitionHistory:
        return self._partitions.setdefault(partition, PartitionHistory())

    def sent(self, attempt: Attempt) -> None:
        self.partition(attempt.partition).attempts.append(attempt)
        key = attempt.partition, identity(attempt.content)
        self._by_identity.setdefault(key, []).append(attempt)

    def answered(self, attempt: Attempt, error: ErrorCode, base_offset: int) -> None:
        if attempt.error is not None:
            raise Broken(f"answered twice: {attempt}")
        if error not in (ErrorCode.NONE, *DEFINITE_FAILURES, *UNKNOWN_OUTCOMES):
            raise Broken(f"nothing was wrong with the batch that was answered with {error.name}")
        attempt.error = error
        attempt.base_offset = base_offset
        if error is ErrorCode.NONE:
            self._see(attempt.partition, base_offset, identity(attempt.content))

    def observed(self, observer: str, partition: PartitionId, bounds: Bounds) -> None:
        """An observer asks again only when it has been answered."""
        known = self.partition(partition).bounds
        before = known.get(observer, Bounds(0, 0))
        if bounds.log_start_offset < before.log_start_offset or bounds.high_watermark < before.high_watermark:
            raise Broken(f"the log went back from {before} to {bounds}")
        if bounds.log_start_offset > bounds.high_watermark:
            raise Broken(f"the log starts behind its end: {bounds}")
        known[observer] = bounds

    def read(
        self, partition: PartitionId, fetch_offset: int, records: Sequence[memoryview], high_watermark: int
    ) -> int:
        """Records of a fetch; gives the offset to go on with."""
        end = fetch_offset
        for base, batch_end, name in split(records):
            if end == fetch_offset and not base <= fetch_offset < batch_end:
                raise Broken(f"asked for {fetch_offset}, got [{base}, {batch_end})")
            if end not in (fetch_offset, base):
                raise Broken(f"a batch at {base} follows one that ends at {end}")
            if batch_end > high_watermark:
                raise Broken(f"offset {batch_end - 1} was seen beyond the high watermark {high_watermark}")
            self._see(partition, base, name)
            end = batch_end
        return end

    def _see(self, partition: PartitionId, base_offset: int, name: bytes) -> None:
        attempts = self._by_identity.get((partition, name))
        if attempts is None:
            raise Broken(f"what stands at {base_offset} was never sent")
        if all(attempt.error in DEFINITE_FAILURES for attempt in attempts):
            raise Broken(f"what stands at {base_offset} was refused")
        if self.partition(partition).seen.setdefault(base_offset, name) != name:
            raise Broken(f"offset {base_offset} held something else before")

    def check_log(self, partition: PartitionId, bounds: Bounds, records: Sequence[memoryview]) -> None:
        """The whole readable log, read without faults when everybody is at rest."""
        known = self.partition(partition)
        for observer in list(known.bounds):
            self.observed(observer, partition, bounds)
        batches = list(split(records))
        self._check_dense(bounds, batches)
        offsets: dict[bytes, int] = {}
        for base, _, name in batches:
            if name in offsets:
                raise Broken(f"the batch at {offsets[name]} has a second copy at {base}")
            offsets[name] = base
        for attempt in known.attempts:
            end = attempt.base_offset + attempt.facts.record_count
            readable = attempt.error is ErrorCode.NONE and end > bounds.log_start_offset
            if readable and offsets.get(identity(attempt.content)) != attempt.base_offset:
                raise Broken(f"acknowledged at {attempt.base_offset}, but not there")
        self._check_order(known.attempts)
        self._check_sequences(partition, batches)

    @staticmethod
    def _check_dense(bounds: Bounds, batches: Sequence[BatchAtOffset]) -> None:
        end = bounds.log_start_offset
        for place, batch in enumerate(batches):
            if batch.base != end and not (place == 0 and batch.base < end < batch.end):
                raise Broken(f"a batch at {batch.base} follows one that ends at {end}")
            end = batch.end
        if end != bounds.high_watermark:
            raise Broken(f"the log ends at {end}, its high watermark is {bounds.high_watermark}")

    @staticmethod
    def _check_order(attempts: Iterable[Attempt]) -> None:
        """Of one connection, what was sent first and acknowledged lies first. A retry that is told the
        offset of its first attempt was not sent first."""
        last: dict[tuple[int, int], int] = {}
        for attempt in attempts:
            if attempt.error is ErrorCode.NONE:
                key = attempt.connection, attempt.facts.producer_id
                if attempt.base_offset < last.get(key, -1) and attempt.facts.producer_id == -1:
                    raise Broken(f"the batch at {attempt.base_offset} was sent after {last[key]}")
                last[key] = max(attempt.base_offset, last.get(key, -1))

    def _check_sequences(self, partition: PartitionId, batches: Sequence[BatchAtOffset]) -> None:
        following: dict[int, int] = {}
        for base, _, name in batches:
            facts = self._by_identity[partition, name][0].facts
            if facts.producer_id == -1:
                continue
            if facts.base_sequence != following.get(facts.producer_id, facts.base_sequence):
                raise Broken(f"the batch at {base} has the sequence {facts.base_sequence}")
            following[facts.producer_id] = facts.base_sequence + facts.record_count


def split(records: Sequence[memoryview]) -> Iterable[BatchAtOffset]:
    for run in records:
        for position, header in iter_headers(run):
            name = identity(run[position : position + header.byte_length])
            yield BatchAtOffset(header.base_offset, header.base_offset + header.offset_count, name)

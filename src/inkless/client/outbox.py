"""The order in which a producer's batches leave, and come back when a broker asks for another try.

Nothing here awaits. Each partition has a `Lane`, through which a batch goes: queued (the last one still takes
records) → in flight → settled, or back to the queue.

A batch never overtakes one that failed: after a failure the lane sends nothing until all it has in flight has
come back, then it begins again with the oldest. For an idempotent producer every batch carries a sequence
number, so that what did arrive the first time is recognised.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from inkless.client.pending import OutgoingRecord, PendingBatch
from inkless.client.topology import TopicPartition
from inkless.records.encode import ANONYMOUS, ProducerStamp

_SEQUENCES: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class OutboxSettings:
    """When a batch is ready to leave, and how many of a partition may be on their way."""

    linger_ms: int = 5
    batch_bytes_max: int = 256 << 10
    in_flight_max: int = 5
    """At most five: brokers remember that many batches of an idempotent producer (KIP-98)."""
    delivery_timeout_ms: int = 120_000


class ProducerIdentity(NamedTuple):
    """What InitProducerId gave."""

    producer_id: int
    producer_epoch: int


class Lane:
    """The batches of one partition."""

    def __init__(self, place: TopicPartition, settings: OutboxSettings, *, idempotent: bool) -> None:
        self.place = place
        self.needs_identity = idempotent
        self.retry_at = 0.0
        self._settings = settings
        self._queue: deque[PendingBatch] = deque()
        self._in_flight: list[PendingBatch] = []
        self._failed: list[PendingBatch] = []
        self._identity: ProducerIdentity | None = None
        self._next_sequence = 0
        self._next_number = 0

    def __iter__(self) -> Iterator[PendingBatch]:
        """All that is not settled, oldest first."""
        return iter(sorted((*self._in_flight, *self._failed, *self._queue), key=_by_number))

    @property
    def is_idle(self) -> bool:
        return not (self._queue or self._in_flight or self._failed)

    @property
    def had_identity(self) -> bool:
        return self._identity is not None

    def append(self, record: OutgoingRecord, now: float) -> bool:
        """Adds a record; true when this closed a batch and the record stands in a new one."""
        closed = False
        last = self._queue[-1] if self._queue else None
        if last is not None and not last.is_closed:
            if last.byte_length + record.bytes_max <= self._settings.batch_bytes_max:
                last.append(record)
                return False
            last.is_closed = closed = True
        batch = PendingBatch(self.place, number=self._next_number, opened_at=now)
        self._next_number += 1
        batch.append(record)
        self._queue.append(batch)
        return closed

    def wait_s(self, now: float) -> float | None:
        """In how many seconds the next batch may leave; None when that depends on what is in flight."""
        if not self._queue or self._failed or len(self._in_flight) >= self._settings.in_flight_max:
            return None
        if self.needs_identity and self._in_flight:
            return None
        head = self._queue[0]
        ready_at = self.retry_at
        if not head.is_closed:
            ready_at = max(ready_at, head.opened_at + self._settings.linger_ms / 1000)
        return max(0.0, ready_at - now)

    def adopt(self, identity: ProducerIdentity) -> None:
        """Sequence numbers start anew, for what is still to be sent."""
        self._identity = identity
        self._next_sequence = 0
        self.needs_identity = False
        for batch in self._queue:
            batch.stamp = None

    def take(self) -> PendingBatch:
        """The next batch, which is in flight from now on."""
        batch = self._queue.popleft()
        batch.is_closed = True
        if batch.stamp is None:
            batch.stamp = self._new_stamp(batch.record_count)
        self._in_flight.append(batch)
        return batch

    def settled(self, batch: PendingBatch, now: float) -> list[PendingBatch]:
        """The broker has answered for good, with yes or no; returns what is given up because of it."""
        self._in_flight.remove(batch)
        return self._end_round(now)

    def refused(self, batch: PendingBatch, now: float) -> list[PendingBatch]:
        """As `settled`, but the refused batch leaves a gap that a broker will not accept after it."""
        self.needs_identity = self._identity is not None
        return self.settled(batch, now)

    def failed(self, batch: PendingBatch, now: float, backoff_s: float) -> list[PendingBatch]:
        """The batch is to be tried again; returns what is given up instead."""
        self._in_flight.remove(batch)
        self._failed.append(batch)
        self.retry_at = now + backoff_s
        return self._end_round(now)

    def is_oldest(self, batch: PendingBatch) -> bool:
        """Whether nothing unsettled was sent before this batch."""
        return all(batch.number <= other.number for other in (*self._in_flight, *self._failed))

    def expire(self, now: float) -> list[PendingBatch]:
        """Takes out what has waited in the queue for longer than the delivery time-out."""
        given_up: list[PendingBatch] = []
        while self._queue and self._is_expired(self._queue[0], now):
            batch = self._queue.popleft()
            self.needs_identity |= self._identity is not None and batch.stamp is not None
            given_up.append(batch)
        return given_up

    def _end_round(self, now: float) -> list[PendingBatch]:
        if self._in_flight or not self._failed:
            return []
        failed = sorted(self._failed, key=_by_number)
        self._failed.clear()
        if self._is_expired(failed[0], now):
            # Any of them may be stored: sent again behind a gap they could become second copies.
            self.needs_identity = self._identity is not None
            return failed
        self._queue.extendleft(reversed(failed))
        return []

    def _is_expired(self, batch: PendingBatch, now: float) -> bool:
        return now - batch.opened_at >= self._settings.delivery_timeout_ms / 1000

    def _new_stamp(self, record_count: int) -> ProducerStamp:
        if self._identity is None:
            return ANONYMOUS
        sequence = self._next_sequence
        self._next_sequence = (sequence + record_count) % _SEQUENCES
        return ProducerStamp(self._identity.producer_id, self._identity.producer_epoch, sequence)


class Outbox:
    """All lanes of a producer."""

    def __init__(self, settings: OutboxSettings, *, idempotent: bool) -> None:
        self._settings = settings
        self._idempotent = idempotent
        self._lanes: dict[TopicPartition, Lane] = {}

    def lane(self, place: TopicPartition) -> Lane:
        lane = self._lanes.get(place)
        if lane is None:
            lane = self._lanes[place] = Lane(place, self._settings, idempotent=self._idempotent)
        return lane

    def unsettled(self) -> list[PendingBatch]:
        return [batch for lane in self._lanes.values() for batch in lane]

    def ready(self, now: float) -> list[Lane]:
        return [lane for lane in self._lanes.values() if lane.wait_s(now) == 0]

    def wait_s(self, now: float) -> float | None:
        """How long until some lane is ready by itself; None when only an answer can make one so."""
        waits = [wait for lane in self._lanes.values() if (wait := lane.wait_s(now)) is not None]
        return min(waits, default=None)

    def expire(self, now: float) -> list[PendingBatch]:
        return [batch for lane in self._lanes.values() for batch in lane.expire(now)]


def _by_number(batch: PendingBatch) -> int:
    return batch.number

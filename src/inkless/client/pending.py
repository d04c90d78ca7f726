"""One batch of a producer, from its first record to the word that it is stored or lost."""

import logging
from collections.abc import Callable
from typing import Final, NamedTuple

from inkless.client.topology import TopicPartition
from inkless.records.compress import Codec
from inkless.records.encode import ANONYMOUS, ProducerStamp, encode_record, seal_batch
from inkless.records.header import HEADER_BYTES
from inkless.records.record import Headers

log = logging.getLogger(__name__)

NO_OFFSET: Final = -1

_RECORD_OVERHEAD_BYTES_MAX: Final = 36
_HEADER_OVERHEAD_BYTES_MAX: Final = 10
_UTF8_BYTES_MAX: Final = 4


class Delivery(NamedTuple):
    """Where a record is; `offset` is -1 when the broker did not tell (acks 0, or a very late retry)."""

    place: TopicPartition
    offset: int
    timestamp_ms: int


OnDelivered = Callable[[Delivery | None, Exception | None], None]
"""Called once for a record: with where it is, or with why it is nowhere."""


class OutgoingRecord(NamedTuple):
    """What a caller wants to be sent."""

    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int
    on_delivered: OnDelivered | None

    @property
    def bytes_max(self) -> int:
        """An upper bound of what the record takes in a batch, known without encoding it."""
        size = _RECORD_OVERHEAD_BYTES_MAX + len(self.key or b"") + len(self.value or b"")
        for name, content in self.headers:
            size += _HEADER_OVERHEAD_BYTES_MAX + _UTF8_BYTES_MAX * len(name) + len(content or b"")
        return size


class _Waiting(NamedTuple):
    offset_delta: int
    timestamp_ms: int
    on_delivered: OnDelivered


class PendingBatch:
    """Takes records until it `is_closed`; tells each of them how it ended, once."""

    def __init__(self, place: TopicPartition, *, number: int, opened_at: float) -> None:
        self.place = place
        self.number = number
        """Its place in the order of its partition."""
        self.opened_at = opened_at
        self.stamp: ProducerStamp | None = None
        """Set when the batch is first sent; a retry must carry the same."""
        self.is_closed = False
        self.is_settled = False
        self.held_bytes = 0
        """What the batch counts for in the producer's memory."""
        self.record_count = 0
        self._body = bytearray()
        self._sealed: tuple[ProducerStamp, bytes] | None = None
        self._base_timestamp_ms = 0
        self._max_timestamp_ms = 0
        self._waiting: list[_Waiting] = []

    @property
    def byte_length(self) -> int:
        """The size before compression."""
        return HEADER_BYTES + len(self._body)

    def append(self, record: OutgoingRecord) -> None:
        timestamp_ms = record.timestamp_ms
        if self.record_count == 0:
            self._base_timestamp_ms = self._max_timestamp_ms = timestamp_ms
        encode_record(
            self._body,
            offset_delta=self.record_count,
            timestamp_delta_ms=timestamp_ms - self._base_timestamp_ms,
            key=record.key,
            value=record.value,
            headers=record.headers,
        )
        self._max_timestamp_ms = max(self._max_timestamp_ms, timestamp_ms)
        if record.on_delivered is not None:
            self._waiting.append(_Waiting(self.record_count, timestamp_ms, record.on_delivered))
        self.held_bytes += record.bytes_max
        self.record_count += 1

    def seal(self, codec: Codec) -> bytes:
        """The batch's bytes; the same ones for as long as its stamp stays the same."""
        stamp = self.stamp or ANONYMOUS
        if self._sealed is None or self._sealed[0] != stamp:
            sealed = seal_batch(
                self._body,
                record_count=self.record_count,
                last_offset_delta=self.record_count - 1,
                base_timestamp_ms=self._base_timestamp_ms,
                max_timestamp_ms=self._max_timestamp_ms,
                codec=codec,
                producer=stamp,
            )
            self._sealed = stamp, sealed
        return self._sealed[1]

    def delivered(self, base_offset: int, append_time_ms: int) -> None:
        """The batch is stored; `append_time_ms` -1 means that the records keep their own timestamps."""
        self.is_settled = True
        for waiting in self._waiting:
            offset = NO_OFFSET if base_offset == NO_OFFSET else base_offset + waiting.offset_delta
            timestamp_ms = waiting.timestamp_ms if append_time_ms < 0 else append_time_ms
            self._tell(waiting.on_delivered, Delivery(self.place, offset, timestamp_ms), None)
        self._waiting.clear()

    def lost(self, error: Exception) -> None:
        """The batch will not be stored, or nobody knows whether it is."""
        self.is_settled = True
        for waiting in self._waiting:
            self._tell(waiting.on_delivered, None, error)
        self._waiting.clear()

    def _tell(self, on_delivered: OnDelivered, delivery: Delivery | None, error: Exception | None) -> None:
        try:
            on_delivered(delivery, error)
        except Exception:
            # It is the caller's code; the other records of the batch must still hear of their end.
            log.exception("the delivery callback of a record of %s failed", self.place)

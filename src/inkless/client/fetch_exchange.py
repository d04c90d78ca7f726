"""Fetch requests out of positions, and the whole batches in their answers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from inkless.client.topology import ClusterView, TopicPartition
from inkless.errors import CorruptData
from inkless.protocol.messages import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from inkless.protocol.wire_types import NO_UUID
from inkless.records.decode import decode_run
from inkless.records.header import BATCH_LENGTH_MIN, HEADER_BYTES, read_header
from inkless.records.record import Record

_VERSION_WITH_NAMES: Final = 12
"""The last one in which topics go by name; above it by id."""
_NO_SESSION: Final = 0
_SESSIONLESS_EPOCH: Final = -1


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """What one fetch may bring, and how long a broker may wait for it. The first batch may always come."""

    max_wait_ms: int = 500
    bytes_min: int = 1
    bytes_max: int = 50 << 20
    partition_bytes_max: int = 8 << 20
    read_committed: bool = False
    rack: str = ""


class FetchedRun(NamedTuple):
    """Whole batches of one partition; those of its records count that lie in [start_offset, end_offset)."""

    place: TopicPartition
    start_offset: int
    end_offset: int
    high_watermark: int
    batches: memoryview

    def records(self) -> list[Record]:
        """The records, decoded and decompressed; costs far more than everything before it."""
        start, end = self.start_offset, self.end_offset
        return [record for record in decode_run(self.batches) if start <= record.offset < end]


class FetchExchange:
    """One fetch without a session, for partitions of one leader."""

    def __init__(
        self, positions: Mapping[TopicPartition, int], view: ClusterView, limits: FetchLimits
    ) -> None:
        self.positions = positions
        by_topic: dict[str, list[FetchPartition]] = {}
        for place, offset in positions.items():
            by_topic.setdefault(place.topic, []).append(
                FetchPartition(
                    partition=place.partition,
                    fetch_offset=offset,
                    partition_max_bytes=limits.partition_bytes_max,
                )
            )
        ids = {name: topic.topic_id for name in by_topic if (topic := view.topics.get(name)) is not None}
        self._names = {topic_id: name for name, topic_id in ids.items()}
        self.version_max = (
            None if all(ids.get(name, NO_UUID) != NO_UUID for name in by_topic) else _VERSION_WITH_NAMES
        )
        self.message = FetchRequest(
            max_wait_ms=limits.max_wait_ms,
            min_bytes=limits.bytes_min,
            max_bytes=limits.bytes_max,
            isolation_level=int(limits.read_committed),
            session_id=_NO_SESSION,
            session_epoch=_SESSIONLESS_EPOCH,
            topics=[
                FetchTopic(topic=name, topic_id=ids.get(name, NO_UUID), partitions=partitions)
                for name, partitions in by_topic.items()
            ],
            rack_id=limits.rack,
        )

    def answers(self, response: FetchResponse) -> Iterator[tuple[TopicPartition, PartitionData]]:
        for topic in response.responses:
            name = topic.topic or self._names.get(topic.topic_id, "")
            for data in topic.partitions:
                place = TopicPartition(name, data.partition_index)
                if place in self.positions:
                    yield place, data

    def run(self, place: TopicPartition, data: PartitionData) -> FetchedRun | None:
        """What a partition's answer brought, or None when it brought nothing."""
        buffers = data.records or ()
        # A decoded response has its records in one piece; several would have to be joined.
        batches = memoryview(buffers[0] if len(buffers) == 1 else b"".join(buffers))
        byte_end, end_offset = _whole_batches(batches)
        if byte_end == 0:
            if len(batches) > 0:
                raise CorruptData(f"{place}: the first batch of a fetch is cut short")
            return None
        start_offset = self.positions[place]
        return FetchedRun(place, start_offset, end_offset, data.high_watermark, batches[:byte_end])


def _whole_batches(batches: memoryview) -> tuple[int, int]:
    """Where the last whole batch ends, in bytes and in offsets; a broker may cut off the one behind it."""
    pos = 0
    end_offset = 0
    while len(batches) - pos >= HEADER_BYTES:
        header = read_header(batches, pos)
        if header.batch_length < BATCH_LENGTH_MIN:
            raise CorruptData(f"a batch claims {header.byte_length} bytes")
        if pos + header.byte_length > len(batches):
            break
        pos += header.byte_length
        end_offset = header.last_offset + 1
    return pos, end_offset

"""ListOffsets: the ends of a partition, or the exact record for a timestamp."""

from collections.abc import Mapping
from enum import IntEnum

from inkless.coordinator.types import OffsetBounds, PartitionId
from inkless.errors import CorruptData, RequestError, Unavailable
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from inkless.records.search import TimestampedOffset
from inkless.server.context import BrokerContext
from inkless.server.exchange import Exchange
from inkless.server.handlers.unheard_of import learn_of

_NO_ANSWER = TimestampedOffset(-1, -1)
_LEADER_EPOCH = 0


class Special(IntEnum):
    """Timestamps that ask for a place instead of a time."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


_ENDS = (Special.LATEST, Special.EARLIEST, Special.EARLIEST_LOCAL)
# Nothing is tiered here and nothing waits to be: every record is in object storage when it is acknowledged.
_NOWHERE = (Special.LATEST_TIERED, Special.EARLIEST_PENDING_UPLOAD)


async def handle_list_offsets(
    broker: BrokerContext, _: Exchange, request: ListOffsetsRequest
) -> ListOffsetsResponse:
    await learn_of(
        broker, ((topic.name, each.partition_index) for topic in request.topics for each in topic.partitions)
    )
    partitions: dict[tuple[str, int], PartitionId] = {}
    for topic in request.topics:
        entry = broker.directory.by_name(topic.name)
        for wanted in topic.partitions:
            partition = entry.partition(wanted.partition_index) if entry is not None else None
            if partition is not None:
                partitions[topic.name, wanted.partition_index] = partition
    bounds = await _bounds(broker, request, partitions)
    topics = []
    for topic in request.topics:
        answers = [
            await _answer(broker, partitions.get((topic.name, wanted.partition_index)), wanted, bounds)
            for wanted in topic.partitions
        ]
        topics.append(ListOffsetsTopicResponse(topic.name, answers))
    return ListOffsetsResponse(topics=topics)


async def _bounds(
    broker: BrokerContext, request: ListOffsetsRequest, partitions: Mapping[tuple[str, int], PartitionId]
) -> Mapping[PartitionId, OffsetBounds]:
    """The ends of all partitions of which they are asked for, from one call; empty when it has no answer."""
    asked = {
        partitions[place]
        for topic in request.topics
        for wanted in topic.partitions
        if wanted.timestamp in _ENDS and (place := (topic.name, wanted.partition_index)) in partitions
    }
    try:
        found = await broker.control_plane.offset_bounds(sorted(asked)) if asked else []
    except Unavailable:
        return {}
    return {bounds.partition: bounds for bounds in found}


async def _answer(
    broker: BrokerContext,
    partition: PartitionId | None,
    wanted: ListOffsetsPartition,
    bounds: Mapping[PartitionId, OffsetBounds],
) -> ListOffsetsPartitionResponse:
    index = wanted.partition_index
    try:
        if partition is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if wanted.current_leader_epoch > _LEADER_EPOCH:
            raise RequestError(ErrorCode.UNKNOWN_LEADER_EPOCH)
        if wanted.timestamp in _ENDS:
            found: TimestampedOffset | None = _end(bounds.get(partition), wanted.timestamp)
        else:
            found = await _look_up(broker, partition, wanted.timestamp)
    except RequestError as error:
        return ListOffsetsPartitionResponse(index, error.code)
    except Unavailable:
        return ListOffsetsPartitionResponse(index, ErrorCode.KAFKA_STORAGE_ERROR)
    except CorruptData:
        return ListOffsetsPartitionResponse(index, ErrorCode.CORRUPT_MESSAGE)
    epoch = -1 if found is None else _LEADER_EPOCH
    offset, timestamp_ms = found or _NO_ANSWER
    return ListOffsetsPartitionResponse(index, ErrorCode.NONE, timestamp_ms, offset, epoch)


def _end(bounds: OffsetBounds | None, timestamp: int) -> TimestampedOffset:
    if bounds is None:
        raise Unavailable("the coordinator did not answer")
    if bounds.error is not ErrorCode.NONE:
        raise RequestError(bounds.error)
    latest = timestamp == Special.LATEST
    return TimestampedOffset(bounds.high_watermark if latest else bounds.log_start_offset, -1)


async def _look_up(broker: BrokerContext, partition: PartitionId, timestamp: int) -> TimestampedOffset | None:
    if timestamp >= 0:
        return await broker.timestamp_search.first_at_or_after(partition, timestamp)
    if timestamp == Special.MAX_TIMESTAMP:
        return await broker.timestamp_search.latest(partition)
    if timestamp in _NOWHERE:
        return None
    raise RequestError(ErrorCode.UNSUPPORTED_VERSION)

"""ListOffsets: the ends of a partition, or the exact record for a timestamp."""

from enum import IntEnum

from inkless.coordinator.types import Coordinates, FindRequest, OffsetBounds, PartitionId, TimestampHit
from inkless.errors import CorruptData, RequestError, Unavailable
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from inkless.records.search import TimestampedOffset, find_first_at_or_after, find_max_timestamp
from inkless.server.context import BrokerContext
from inkless.server.exchange import Exchange

_NO_ANSWER = TimestampedOffset(-1, -1)
_LEADER_EPOCH = 0
_RUNS_SEARCHED_MAX = 1000


class Special(IntEnum):
    """Timestamps that ask for a place instead of a time."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


async def handle_list_offsets(
    broker: BrokerContext, _: Exchange, request: ListOffsetsRequest
) -> ListOffsetsResponse:
    topics = []
    for topic in request.topics:
        entry = broker.directory.by_name(topic.name)
        answers = []
        for wanted in topic.partitions:
            partition = entry.partition(wanted.partition_index) if entry is not None else None
            answers.append(await _answer(broker, partition, wanted))
        topics.append(ListOffsetsTopicResponse(topic.name, answers))
    return ListOffsetsResponse(topics=topics)


async def _answer(
    broker: BrokerContext, partition: PartitionId | None, wanted: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    index = wanted.partition_index
    try:
        if partition is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if wanted.current_leader_epoch > _LEADER_EPOCH:
            raise RequestError(ErrorCode.UNKNOWN_LEADER_EPOCH)
        found = await _look_up(broker, partition, wanted.timestamp)
    except RequestError as error:
        return ListOffsetsPartitionResponse(index, error.code)
    except Unavailable:
        return ListOffsetsPartitionResponse(index, ErrorCode.KAFKA_STORAGE_ERROR)
    except CorruptData:
        return ListOffsetsPartitionResponse(index, ErrorCode.CORRUPT_MESSAGE)
    epoch = -1 if found is _NO_ANSWER else _LEADER_EPOCH
    return ListOffsetsPartitionResponse(index, ErrorCode.NONE, found.timestamp_ms, found.offset, epoch)


async def _look_up(broker: BrokerContext, partition: PartitionId, timestamp: int) -> TimestampedOffset:
    control_plane = broker.control_plane
    if timestamp >= 0:
        (hit,) = await control_plane.find_by_timestamp([(partition, timestamp)])
        return await _first_at_or_after(broker, hit, timestamp)
    if timestamp == Special.MAX_TIMESTAMP:
        (hit,) = await control_plane.find_max_timestamp([partition])
        return await _max_timestamp(broker, hit)
    if timestamp in (Special.LATEST_TIERED, Special.EARLIEST_PENDING_UPLOAD):
        # Nothing is tiered here and nothing waits to be: every record is in object storage when acknowledged.
        return _NO_ANSWER
    if timestamp < Special.EARLIEST_PENDING_UPLOAD:
        raise RequestError(ErrorCode.UNSUPPORTED_VERSION)
    (bounds,) = await control_plane.offset_bounds([partition])
    _check(bounds)
    latest = timestamp == Special.LATEST
    return TimestampedOffset(bounds.high_watermark if latest else bounds.log_start_offset, -1)


def _check(answer: OffsetBounds | TimestampHit) -> None:
    if answer.error is not ErrorCode.NONE:
        raise RequestError(answer.error)


async def _first_at_or_after(broker: BrokerContext, hit: TimestampHit, timestamp: int) -> TimestampedOffset:
    _check(hit)
    where = hit.coordinates
    for _ in range(_RUNS_SEARCHED_MAX):
        if where is None:
            return _NO_ANSWER
        run = await broker.reader.read(where)
        found = find_first_at_or_after(run, where.base_offset, timestamp, offset_min=hit.log_start_offset)
        if found is not None:
            return found
        # The run's latest record was deleted with the log's start, or its header promised too much.
        where = await _run_at(broker, hit.partition, where.end_offset)
    return _NO_ANSWER


async def _run_at(broker: BrokerContext, partition: PartitionId, offset: int) -> Coordinates | None:
    wanted = FindRequest(partition, offset, bytes_max=1)
    (result,) = await broker.control_plane.find_batches([wanted], bytes_max=1)
    return result.coordinates[0] if result.coordinates else None


async def _max_timestamp(broker: BrokerContext, hit: TimestampHit) -> TimestampedOffset:
    _check(hit)
    if hit.coordinates is None:
        return _NO_ANSWER
    run = await broker.reader.read(hit.coordinates)
    found = find_max_timestamp(run, hit.coordinates.base_offset, offset_min=hit.log_start_offset)
    return found or _NO_ANSWER

"""OffsetForLeaderEpoch and DeleteRecords: questions and changes at the ends of a log.

Both ask the coordinator once for all partitions of a request.
"""

from collections.abc import Mapping, Sequence

from inkless.coordinator.types import DeleteRecordsRequest as DeleteBefore
from inkless.coordinator.types import DeleteRecordsResult, OffsetBounds, PartitionId
from inkless.errors import InklessError
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from inkless.server.context import BrokerContext
from inkless.server.exchange import Exchange
from inkless.server.handlers.failures import failure_of
from inkless.server.handlers.unheard_of import learn_of

_LEADER_EPOCH = 0
"""The coordinator makes the order of a log, and no change of leader can cut it: one epoch is enough."""

_HIGH_WATERMARK = -1
_NO_OFFSET = -1


async def handle_offset_for_leader_epoch(
    broker: BrokerContext, _: Exchange, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    """Where the asked epoch ends: at the high watermark, or nowhere for an epoch that never was."""
    await learn_of(
        broker, ((topic.topic, asked.partition) for topic in request.topics for asked in topic.partitions)
    )
    located = [
        (topic.topic, [(asked, _locate(broker, topic.topic, asked.partition)) for asked in topic.partitions])
        for topic in request.topics
    ]
    known = [partition for _, asked in located for _, partition in asked if partition is not None]
    bounds = await _offset_bounds(broker, known)
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=name,
                partitions=[_epoch_end(asked, bounds.get(partition)) for asked, partition in partitions],
            )
            for name, partitions in located
        ]
    )


async def handle_delete_records(
    broker: BrokerContext, _: Exchange, request: DeleteRecordsRequest
) -> DeleteRecordsResponse:
    """Moves log starts to the asked offsets; the answer says where each is now."""
    await learn_of(
        broker,
        ((topic.name, asked.partition_index) for topic in request.topics for asked in topic.partitions),
    )
    judged = [
        (
            topic.name,
            [
                (asked.partition_index, _judge(broker, topic.name, asked.partition_index, asked.offset))
                for asked in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    accepted = [each for _, partitions in judged for _, each in partitions if isinstance(each, DeleteBefore)]
    results = await _delete_records(broker, accepted)
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=name,
                partitions=[
                    _not_deleted(index, each)
                    if isinstance(each, ErrorCode)
                    else _deleted(index, results[each])
                    for index, each in partitions
                ],
            )
            for name, partitions in judged
        ]
    )


def _locate(broker: BrokerContext, topic_name: str, index: int) -> PartitionId | None:
    entry = broker.directory.by_name(topic_name)
    return None if entry is None else entry.partition(index)


async def _offset_bounds(
    broker: BrokerContext, partitions: Sequence[PartitionId]
) -> Mapping[PartitionId | None, OffsetBounds]:
    try:
        answers = await broker.control_plane.offset_bounds(partitions) if partitions else []
    except InklessError as error:
        code = failure_of(error, when_unavailable=ErrorCode.OFFSET_NOT_AVAILABLE).code
        answers = [OffsetBounds(partition, code, _NO_OFFSET, _NO_OFFSET) for partition in partitions]
    return {answer.partition: answer for answer in answers}


def _epoch_end(asked: OffsetForLeaderPartition, bounds: OffsetBounds | None) -> EpochEndOffset:
    index = asked.partition
    if bounds is None:
        return EpochEndOffset(partition=index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if asked.current_leader_epoch > _LEADER_EPOCH:
        return EpochEndOffset(partition=index, error_code=ErrorCode.UNKNOWN_LEADER_EPOCH)
    if bounds.error is not ErrorCode.NONE:
        return EpochEndOffset(partition=index, error_code=bounds.error)
    if asked.leader_epoch != _LEADER_EPOCH:
        return EpochEndOffset(partition=index)
    return EpochEndOffset(partition=index, leader_epoch=_LEADER_EPOCH, end_offset=bounds.high_watermark)


def _judge(broker: BrokerContext, topic_name: str, index: int, offset: int) -> DeleteBefore | ErrorCode:
    """What to ask of the coordinator, or why not."""
    entry = broker.directory.by_name(topic_name)
    partition = None if entry is None else entry.partition(index)
    if entry is None or partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not entry.configs.deletes:
        # A log that is only compacted promises to keep the newest record of every key.
        return ErrorCode.POLICY_VIOLATION
    if offset < _HIGH_WATERMARK:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    return DeleteBefore(partition, offset)


async def _delete_records(
    broker: BrokerContext, requests: Sequence[DeleteBefore]
) -> Mapping[DeleteBefore, DeleteRecordsResult]:
    try:
        results = await broker.control_plane.delete_records(requests) if requests else []
    except InklessError as error:
        code = failure_of(error).code
        results = [DeleteRecordsResult(request.partition, code, _NO_OFFSET) for request in requests]
    return dict(zip(requests, results, strict=True))


def _deleted(index: int, result: DeleteRecordsResult) -> DeleteRecordsPartitionResult:
    if result.error is not ErrorCode.NONE:
        return _not_deleted(index, result.error)
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=result.log_start_offset)


def _not_deleted(index: int, code: ErrorCode) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=_NO_OFFSET, error_code=code)

"""OffsetCommit, OffsetFetch and OffsetDelete: how far groups have read.

Topics are named, or since version 10 known by their ids; either way offsets belong to the id.
"""

from collections.abc import Mapping, Sequence

from inkless.cluster.directory import TopicEntry
from inkless.coordinator.types import CommittedOffset, PartitionId
from inkless.errors import InklessError
from inkless.groups.events import MemberIdentity
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from inkless.server.context import BrokerContext
from inkless.server.exchange import Exchange
from inkless.server.handlers.groups import group_failure
from inkless.server.handlers.unheard_of import learn_of

_TOPIC_IDS_SINCE = 10
_GROUPS_SINCE = 8
_GROUP_ERROR_SINCE = 2
_NO_OFFSET = -1


async def handle_offset_commit(
    broker: BrokerContext, exchange: Exchange, request: OffsetCommitRequest
) -> OffsetCommitResponse:
    """A partition that is refused does not keep the others from being committed."""
    by_id = exchange.version >= _TOPIC_IDS_SINCE
    await learn_of(
        broker,
        (
            (topic.topic_id if by_id else topic.name, asked.partition_index)
            for topic in request.topics
            for asked in topic.partitions
        ),
    )
    now_ms = broker.clock.now_ms()
    accepted: dict[PartitionId, CommittedOffset] = {}
    judged = []
    for topic in request.topics:
        entry = _entry(broker, topic.name, topic.topic_id, by_id=by_id)
        codes = [_commit_refusal(broker, entry, asked, by_id=by_id) for asked in topic.partitions]
        judged.append((topic, codes))
        for asked, code in zip(topic.partitions, codes, strict=True):
            if entry is not None and code is ErrorCode.NONE:
                accepted[entry.partitions[asked.partition_index]] = CommittedOffset(
                    asked.committed_offset,
                    asked.committed_leader_epoch,
                    asked.committed_metadata or "",
                    now_ms,
                )
    outcome = await _commit(broker, request, accepted)
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=asked.partition_index, error_code=code or outcome
                    )
                    for asked, code in zip(topic.partitions, codes, strict=True)
                ],
            )
            for topic, codes in judged
        ]
    )


async def handle_offset_fetch(
    broker: BrokerContext, exchange: Exchange, request: OffsetFetchRequest
) -> OffsetFetchResponse:
    """Of one group, or since version 8 of several."""
    by_id = exchange.version >= _TOPIC_IDS_SINCE
    if exchange.version >= _GROUPS_SINCE:
        return OffsetFetchResponse(
            groups=[await _fetch_group(broker, group, by_id=by_id) for group in request.groups]
        )
    topics = None if request.topics is None else [_as_in_groups(each) for each in request.topics]
    answer = await _fetch_group(broker, OffsetFetchRequestGroup(request.group_id, topics=topics), by_id=False)
    if answer.error_code and exchange.version < _GROUP_ERROR_SINCE:
        return OffsetFetchResponse(topics=_failed_topics(topics or (), answer.error_code))
    return OffsetFetchResponse(
        error_code=answer.error_code, topics=[_as_alone(each) for each in answer.topics]
    )


async def handle_offset_delete(
    broker: BrokerContext, _: Exchange, request: OffsetDeleteRequest
) -> OffsetDeleteResponse:
    """Offsets of topics that members of the group read are left alone."""
    await learn_of(
        broker,
        ((topic.name, asked.partition_index) for topic in request.topics for asked in topic.partitions),
    )
    names = {
        partition: topic.name
        for topic in request.topics
        for asked in topic.partitions
        if (partition := _located(broker, topic.name, asked.partition_index)) is not None
    }
    try:
        codes: Mapping[PartitionId, ErrorCode] = await broker.group_offsets.delete(request.group_id, names)
    except InklessError as error:
        return OffsetDeleteResponse(error_code=group_failure(error))
    topics = []
    for topic in request.topics:
        partitions = []
        for asked in topic.partitions:
            partition = _located(broker, topic.name, asked.partition_index)
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if partition is None else codes[partition]
            partitions.append(
                OffsetDeleteResponsePartition(partition_index=asked.partition_index, error_code=code)
            )
        topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
    return OffsetDeleteResponse(topics=topics)


def _entry(broker: BrokerContext, name: str, topic_id: bytes, *, by_id: bool) -> TopicEntry | None:
    return broker.directory.by_id(topic_id) if by_id else broker.directory.by_name(name)


def _located(broker: BrokerContext, name: str, index: int) -> PartitionId | None:
    entry = broker.directory.by_name(name)
    return None if entry is None else entry.partition(index)


def _commit_refusal(
    broker: BrokerContext, entry: TopicEntry | None, asked: OffsetCommitRequestPartition, *, by_id: bool
) -> ErrorCode:
    if entry is None:
        return ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if entry.partition(asked.partition_index) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if len((asked.committed_metadata or "").encode()) > broker.settings.groups.offset_metadata_bytes_max:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE


async def _commit(
    broker: BrokerContext, request: OffsetCommitRequest, offsets: Mapping[PartitionId, CommittedOffset]
) -> ErrorCode:
    identity = MemberIdentity(request.member_id, request.group_instance_id)
    try:
        await broker.group_offsets.commit(
            request.group_id, identity, request.generation_id_or_member_epoch, offsets
        )
    except InklessError as error:
        return group_failure(error)
    return ErrorCode.NONE


async def _fetch_group(
    broker: BrokerContext, asked: OffsetFetchRequestGroup, *, by_id: bool
) -> OffsetFetchResponseGroup:
    try:
        if asked.topics is None:
            offsets = await broker.group_offsets.fetch(asked.group_id, None)
            await learn_of(broker, ((partition.topic_id, partition.index) for partition in offsets))
            topics = _all_topics(broker, offsets)
        else:
            topics = await _fetch_topics(broker, asked.group_id, asked.topics, by_id=by_id)
    except InklessError as error:
        return OffsetFetchResponseGroup(group_id=asked.group_id, error_code=group_failure(error))
    return OffsetFetchResponseGroup(group_id=asked.group_id, topics=topics)


async def _fetch_topics(
    broker: BrokerContext, group_id: str, topics: Sequence[OffsetFetchRequestTopics], *, by_id: bool
) -> list[OffsetFetchResponseTopics]:
    await learn_of(
        broker,
        (
            (topic.topic_id if by_id else topic.name, index)
            for topic in topics
            for index in topic.partition_indexes
        ),
    )
    located = []
    for topic in topics:
        entry = _entry(broker, topic.name, topic.topic_id, by_id=by_id)
        code = ErrorCode.UNKNOWN_TOPIC_ID if entry is None and by_id else ErrorCode.NONE
        partitions = [
            (index, None if entry is None else entry.partition(index)) for index in topic.partition_indexes
        ]
        located.append((topic, code, partitions))
    wanted = [partition for *_, pairs in located for _, partition in pairs if partition is not None]
    offsets = await broker.group_offsets.fetch(group_id, wanted)
    return [
        OffsetFetchResponseTopics(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[
                _fetched(index, None if partition is None else offsets.get(partition), code)
                for index, partition in partitions
            ],
        )
        for topic, code, partitions in located
    ]


def _all_topics(
    broker: BrokerContext, offsets: Mapping[PartitionId, CommittedOffset]
) -> list[OffsetFetchResponseTopics]:
    by_topic: dict[bytes, list[OffsetFetchResponsePartitions]] = {}
    for partition, offset in sorted(offsets.items()):
        by_topic.setdefault(partition.topic_id, []).append(_fetched(partition.index, offset, ErrorCode.NONE))
    return [
        OffsetFetchResponseTopics(name=entry.topic.name, topic_id=topic_id, partitions=partitions)
        for topic_id, partitions in by_topic.items()
        if (entry := broker.directory.by_id(topic_id)) is not None
    ]


def _fetched(index: int, offset: CommittedOffset | None, code: ErrorCode) -> OffsetFetchResponsePartitions:
    if offset is None:
        return OffsetFetchResponsePartitions(
            partition_index=index, committed_offset=_NO_OFFSET, metadata="", error_code=code
        )
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=offset.offset,
        committed_leader_epoch=offset.leader_epoch,
        metadata=offset.metadata,
    )


def _as_in_groups(topic: OffsetFetchRequestTopic) -> OffsetFetchRequestTopics:
    return OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)


def _as_alone(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic:
    return OffsetFetchResponseTopic(
        name=topic.name,
        partitions=[
            OffsetFetchResponsePartition(
                partition_index=each.partition_index,
                committed_offset=each.committed_offset,
                committed_leader_epoch=each.committed_leader_epoch,
                metadata=each.metadata,
                error_code=each.error_code,
            )
            for each in topic.partitions
        ],
    )


def _failed_topics(topics: Sequence[OffsetFetchRequestTopics], code: int) -> list[OffsetFetchResponseTopic]:
    """The first versions have no place for an error of the group, so each partition has it."""
    return [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=index, committed_offset=_NO_OFFSET, metadata="", error_code=code
                )
                for index in topic.partition_indexes
            ],
        )
        for topic in topics
    ]

"""Metadata and DescribeTopicPartitions: topics, their partitions, and where they are served."""

from inkless.cluster.directory import TopicEntry
from inkless.cluster.endpoints import endpoint
from inkless.cluster.routing import route
from inkless.coordinator.types import BrokerRegistration
from inkless.errors import RequestError, Unavailable
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from inkless.protocol.wire_types import INT32_MIN, NO_UUID
from inkless.server.context import BrokerContext
from inkless.server.exchange import Exchange
from inkless.server.handlers.operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS

_LEADER_EPOCH = 0
_PARTITIONS_PER_RESPONSE_MAX = 2000
_FIRST_VERSION_WITH_NULL_NAMES = 12
"""In a response; requests may leave out the name from version 10 on."""


async def handle_metadata(
    broker: BrokerContext, exchange: Exchange, request: MetadataRequest
) -> MetadataResponse:
    await _catch_up(broker, request)
    topics = await _topics(broker, exchange, request)
    if request.include_topic_authorized_operations:
        for topic in topics:
            topic.topic_authorized_operations = TOPIC_OPERATIONS
    return MetadataResponse(
        brokers=[_broker(registration, exchange) for registration in broker.membership.brokers],
        cluster_id=broker.cluster_id,
        controller_id=broker.membership.controller_id,
        topics=topics,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else INT32_MIN
        ),
    )


async def _catch_up(broker: BrokerContext, request: MetadataRequest) -> None:
    """Another broker may have created what this one has not heard of yet."""
    directory = broker.directory
    if request.topics is not None and all(
        directory.by_name(topic.name) if topic.name else directory.by_id(topic.topic_id)
        for topic in request.topics
    ):
        await broker.membership.look_around()
    else:
        await broker.membership.catch_up()


async def _topics(
    broker: BrokerContext, exchange: Exchange, request: MetadataRequest
) -> list[MetadataResponseTopic]:
    # In version 0 no topics means all of them; later that is said by null.
    if request.topics is None or (exchange.version == 0 and not request.topics):
        return [_topic(broker, entry) for entry in broker.directory.all()]
    if exchange.version < _FIRST_VERSION_WITH_NULL_NAMES:
        for topic in request.topics:
            topic.name = topic.name or ""
    return [await _named_topic(broker, request, topic) for topic in request.topics]


async def _named_topic(
    broker: BrokerContext, request: MetadataRequest, wanted: MetadataRequestTopic
) -> MetadataResponseTopic:
    if wanted.topic_id != NO_UUID:
        entry = broker.directory.by_id(wanted.topic_id)
        if entry is None or wanted.name:
            code = ErrorCode.INVALID_REQUEST if wanted.name else ErrorCode.UNKNOWN_TOPIC_ID
            return MetadataResponseTopic(code, wanted.name, wanted.topic_id)
        return _topic(broker, entry)
    name = wanted.name or ""
    entry = broker.directory.by_name(name)
    if entry is None:
        if not (request.allow_auto_topic_creation and broker.settings.server.auto_create_topics):
            return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
        try:
            entry = await broker.topic_changes.create_automatically(name)
        except RequestError as error:
            return MetadataResponseTopic(error.code, name)
        except Unavailable:
            return MetadataResponseTopic(ErrorCode.LEADER_NOT_AVAILABLE, name)
    return _topic(broker, entry)


def _broker(registration: BrokerRegistration, exchange: Exchange) -> MetadataResponseBroker:
    listener = endpoint(registration, exchange.listener)
    host, port = (listener.host, listener.port) if listener is not None else ("", -1)
    return MetadataResponseBroker(registration.broker_id, host, port, registration.rack)


def _topic(broker: BrokerContext, entry: TopicEntry) -> MetadataResponseTopic:
    living_ids = [registration.broker_id for registration in broker.membership.brokers]
    partitions = []
    for partition, replicas in zip(entry.partitions, entry.topic.replicas, strict=True):
        routed = route(partition, replicas, living_ids)
        partitions.append(
            MetadataResponsePartition(
                partition_index=partition.index,
                leader_id=routed.leader_id,
                leader_epoch=_LEADER_EPOCH,
                replica_nodes=list(replicas),
                isr_nodes=routed.in_sync,
                offline_replicas=routed.offline,
            )
        )
    return MetadataResponseTopic(name=entry.topic.name, topic_id=entry.topic.topic_id, partitions=partitions)


async def handle_describe_topic_partitions(
    broker: BrokerContext, _: Exchange, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    """Topics by name, partitions in order, up to a limit; the cursor says where the next request goes on."""
    if all(broker.directory.by_name(topic.name) for topic in request.topics):
        await broker.membership.look_around()
    else:
        await broker.membership.catch_up()
    names = sorted(
        {topic.name for topic in request.topics} or {entry.topic.name for entry in broker.directory.all()}
    )
    left = max(1, min(request.response_partition_limit, _PARTITIONS_PER_RESPONSE_MAX))
    start = request.cursor or Cursor()
    response = DescribeTopicPartitionsResponse()
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    response.topics = topics
    for name in names:
        if name < start.topic_name:
            continue
        first = max(0, start.partition_index) if name == start.topic_name else 0
        if left == 0:
            response.next_cursor = Cursor(name, first)
            break
        described = _described(broker, name, first, left)
        topics.append(described)
        left -= len(described.partitions)
        entry = broker.directory.by_name(name)
        following = first + len(described.partitions)
        if entry is not None and following < len(entry.partitions):
            response.next_cursor = Cursor(name, following)
            break
    return response


def _described(
    broker: BrokerContext, name: str, first: int, limit: int
) -> DescribeTopicPartitionsResponseTopic:
    entry = broker.directory.by_name(name)
    if entry is None:
        return DescribeTopicPartitionsResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
    living_ids = [registration.broker_id for registration in broker.membership.brokers]
    partitions = []
    for partition in entry.partitions[first : first + limit]:
        replicas = entry.topic.replicas[partition.index]
        routed = route(partition, replicas, living_ids)
        partitions.append(
            DescribeTopicPartitionsResponsePartition(
                partition_index=partition.index,
                leader_id=routed.leader_id,
                leader_epoch=_LEADER_EPOCH,
                replica_nodes=list(replicas),
                isr_nodes=routed.in_sync,
                eligible_leader_replicas=[],
                last_known_elr=[],
                offline_replicas=routed.offline,
            )
        )
    return DescribeTopicPartitionsResponseTopic(
        name=name,
        topic_id=entry.topic.topic_id,
        partitions=partitions,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )

"""CreateTopics, DeleteTopics and CreatePartitions: each topic of a request succeeds or fails by itself.

Every request begins with a refresh, so that it is judged by the topics that the cluster has, and partitions
are placed on the brokers that live, and not by what this broker knew some seconds ago.
"""

from collections import Counter
from collections.abc import Iterable

from inkless.cluster.directory import TopicEntry
from inkless.cluster.topic_changes import WantedTopic
from inkless.coordinator.types import NewTopic, Topic
from inkless.errors import InklessError, RequestError
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from inkless.protocol.wire_types import NO_UUID
from inkless.server.context import BrokerContext
from inkless.server.exchange import Exchange
from inkless.server.handlers.failures import failure_of
from inkless.settings.describe import describe_topic

_DUPLICATE = RequestError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
_DELETION_DISABLED_SINCE = 3
"""The version of DeleteTopics whose clients know the code TOPIC_DELETION_DISABLED."""


async def handle_create_topics(
    broker: BrokerContext, _: Exchange, request: CreateTopicsRequest
) -> CreateTopicsResponse:
    """A name that stands in the request twice is refused once, and not created."""
    asked = {topic.name: topic for topic in request.topics}
    try:
        await broker.membership.refresh()
    except InklessError as error:
        return CreateTopicsResponse(topics=[_not_created(name, error) for name in asked])
    duplicates = _duplicates(topic.name for topic in request.topics)
    return CreateTopicsResponse(
        topics=[
            _not_created(name, _DUPLICATE)
            if name in duplicates
            else await _create_topic(broker, topic, validate_only=request.validate_only)
            for name, topic in asked.items()
        ]
    )


async def handle_delete_topics(
    broker: BrokerContext, exchange: Exchange, request: DeleteTopicsRequest
) -> DeleteTopicsResponse:
    """Topics by name, or since version 6 by id."""
    states = [*request.topics, *(DeleteTopicState(name=name) for name in request.topic_names)]
    asked = dict.fromkeys((state.name, state.topic_id) for state in states)
    try:
        await broker.directory.refresh()
    except InklessError as error:
        return DeleteTopicsResponse(responses=[_not_deleted(*key, error) for key in asked])
    duplicates = _duplicates(state.name for state in states if state.name is not None)
    results = [
        _not_deleted(name, topic_id, _DUPLICATE)
        if name in duplicates
        else await _delete_topic(broker, name, topic_id, version=exchange.version)
        for name, topic_id in asked
    ]
    return DeleteTopicsResponse(responses=results)


async def handle_create_partitions(
    broker: BrokerContext, _: Exchange, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    """Topics are grown to a count, never shrunk."""
    asked = {topic.name: topic for topic in request.topics}
    try:
        await broker.membership.refresh()
    except InklessError as error:
        return CreatePartitionsResponse(results=[_not_grown(name, error) for name in asked])
    duplicates = _duplicates(topic.name for topic in request.topics)
    return CreatePartitionsResponse(
        results=[
            _not_grown(name, _DUPLICATE)
            if name in duplicates
            else await _add_partitions(broker, topic, validate_only=request.validate_only)
            for name, topic in asked.items()
        ]
    )


async def _create_topic(
    broker: BrokerContext, asked: CreatableTopic, *, validate_only: bool
) -> CreatableTopicResult:
    wanted = WantedTopic(
        name=asked.name,
        partition_count=asked.num_partitions,
        replication_factor=asked.replication_factor,
        has_assignments=bool(asked.assignments),
        configs={config.name: config.value for config in asked.configs},
    )
    try:
        if validate_only:
            return _created(broker, broker.topic_changes.plan(wanted), topic_id=NO_UUID)
        topic = (await broker.topic_changes.create(wanted)).topic
    except InklessError as error:
        return _not_created(asked.name, error)
    return _created(broker, topic, topic_id=topic.topic_id)


def _created(broker: BrokerContext, topic: NewTopic | Topic, *, topic_id: bytes) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic_id,
        num_partitions=len(topic.replicas),
        replication_factor=len(topic.replicas[0]),
        configs=[
            CreatableTopicConfigs(
                name=row.name,
                value=row.value,
                read_only=row.read_only,
                config_source=row.source,
                is_sensitive=row.sensitive,
            )
            for row in describe_topic(topic.configs, broker.settings.topics)
        ],
    )


def _not_created(name: str, error: InklessError) -> CreatableTopicResult:
    failure = failure_of(error)
    return CreatableTopicResult(name=name, error_code=failure.code, error_message=failure.message)


async def _delete_topic(
    broker: BrokerContext, name: str | None, topic_id: bytes, *, version: int
) -> DeletableTopicResult:
    try:
        entry = _find_to_delete(broker, name, topic_id)
        await broker.topic_changes.delete(entry)
    except RequestError as error:
        return _not_deleted(name, topic_id, _as_known_to(error, version=version, by_name=name is not None))
    except InklessError as error:
        return _not_deleted(name, topic_id, error)
    return DeletableTopicResult(name=entry.topic.name, topic_id=entry.topic.topic_id)


def _find_to_delete(broker: BrokerContext, name: str | None, topic_id: bytes) -> TopicEntry:
    if (name is None) == (topic_id == NO_UUID):
        raise RequestError(ErrorCode.INVALID_REQUEST, "Exactly one of topic name and topic id must be given.")
    entry = broker.directory.by_id(topic_id) if name is None else broker.directory.by_name(name)
    if entry is None:
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_ID)
    return entry


def _as_known_to(error: RequestError, *, version: int, by_name: bool) -> RequestError:
    """The error in the words of the client: one that named a topic knows nothing of its id, and an old one
    knows fewer codes."""
    if error.code is ErrorCode.UNKNOWN_TOPIC_ID and by_name:
        return RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic.")
    if error.code is ErrorCode.TOPIC_DELETION_DISABLED and version < _DELETION_DISABLED_SINCE:
        return RequestError(ErrorCode.INVALID_REQUEST, error.message)
    return error


def _not_deleted(name: str | None, topic_id: bytes, error: InklessError) -> DeletableTopicResult:
    failure = failure_of(error)
    return DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=failure.code, error_message=failure.message
    )


async def _add_partitions(
    broker: BrokerContext, asked: CreatePartitionsTopic, *, validate_only: bool
) -> CreatePartitionsTopicResult:
    entry = broker.directory.by_name(asked.name)
    if entry is None:
        return _not_grown(asked.name, RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    try:
        await broker.topic_changes.add_partitions(
            entry,
            asked.count,
            has_assignments=asked.assignments is not None,
            validate_only=validate_only,
        )
    except InklessError as error:
        return _not_grown(asked.name, error)
    return CreatePartitionsTopicResult(name=asked.name)


def _not_grown(name: str, error: InklessError) -> CreatePartitionsTopicResult:
    failure = failure_of(error)
    return CreatePartitionsTopicResult(name=name, error_code=failure.code, error_message=failure.message)


def _duplicates(names: Iterable[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}

"""DescribeConfigs, AlterConfigs and IncrementalAlterConfigs, for topics and for this broker.

A broker reads its own configs when it starts, so they can be described but not altered. Each resource of a
request succeeds or fails by itself; the directory is refreshed first, since another broker may have altered
the topic a moment ago.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import TypeVar

from inkless.cluster.directory import TopicEntry
from inkless.cluster.topic_names import check_topic_name
from inkless.errors import InklessError, RequestError
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalAlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from inkless.server.context import BrokerContext
from inkless.server.exchange import Exchange
from inkless.server.handlers.config_edits import changes_of
from inkless.server.handlers.failures import Failure, failure_of
from inkless.settings.describe import ConfigRow, ConfigSource, describe_broker, describe_topic

_ALL_BROKERS = ""

Resource = TypeVar("Resource", AlterConfigsResource, IncrementalAlterConfigsResource)


class ResourceType(IntEnum):
    """What configs can belong to here; Kafka knows more."""

    TOPIC = 2
    BROKER = 4


async def handle_describe_configs(
    broker: BrokerContext, _: Exchange, request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    """Every config of each resource, or those asked for by name."""
    try:
        await broker.directory.refresh()
    except InklessError as error:
        return DescribeConfigsResponse(results=[_not_described(each, error) for each in request.resources])
    return DescribeConfigsResponse(results=[_described(broker, each, request) for each in request.resources])


async def handle_alter_configs(
    broker: BrokerContext, _: Exchange, request: AlterConfigsRequest
) -> AlterConfigsResponse:
    """Replaces all configs of each topic by those given."""

    def replaced(resource: AlterConfigsResource, entry: TopicEntry) -> dict[str, str | None]:
        given = {config.name: config.value for config in resource.configs}
        if None in given.values():
            raise RequestError(ErrorCode.INVALID_CONFIG, "Null value not supported for topic configs")
        return {**dict.fromkeys(entry.topic.configs), **given}

    altered = await _alter(broker, request.resources, replaced, validate_only=request.validate_only)
    return AlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(*failure, resource.resource_type, resource.resource_name)
            for resource, failure in altered
        ]
    )


async def handle_incremental_alter_configs(
    broker: BrokerContext, _: Exchange, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """Changes the configs that are named, and no others."""

    def edited(resource: IncrementalAlterConfigsResource, entry: TopicEntry) -> dict[str, str | None]:
        return changes_of(resource.configs, own=entry.topic.configs, defaults=broker.settings.topics)

    altered = await _alter(broker, request.resources, edited, validate_only=request.validate_only)
    return IncrementalAlterConfigsResponse(
        responses=[
            IncrementalAlterConfigsResourceResponse(*failure, resource.resource_type, resource.resource_name)
            for resource, failure in altered
        ]
    )


def _described(
    broker: BrokerContext, resource: DescribeConfigsResource, request: DescribeConfigsRequest
) -> DescribeConfigsResult:
    try:
        rows = _rows(broker, resource.resource_type, resource.resource_name)
    except RequestError as error:
        return _not_described(resource, error)
    wanted = frozenset(resource.configuration_keys or ())
    return DescribeConfigsResult(
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[_config(row, request) for row in rows if not wanted or row.name in wanted],
    )


def _not_described(resource: DescribeConfigsResource, error: InklessError) -> DescribeConfigsResult:
    return DescribeConfigsResult(*failure_of(error), resource.resource_type, resource.resource_name)


def _rows(broker: BrokerContext, resource_type: int, name: str) -> Sequence[ConfigRow]:
    if resource_type == ResourceType.BROKER:
        _check_is_this_broker(broker, name)
        # What all brokers share would have been set while they run, and nothing can be.
        return [] if name == _ALL_BROKERS else describe_broker(broker.settings)
    return describe_topic(_topic(broker, resource_type, name).topic.configs, broker.settings.topics)


def _config(row: ConfigRow, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = row.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=row.name,
        value=row.value,
        read_only=row.read_only,
        config_source=row.source,
        is_default=row.source is ConfigSource.DEFAULT,
        is_sensitive=row.sensitive,
        synonyms=[DescribeConfigsSynonym(each.name, each.value, each.source) for each in synonyms],
        config_type=row.type,
        documentation=row.doc if request.include_documentation else None,
    )


async def _alter(
    broker: BrokerContext,
    resources: Sequence[Resource],
    changes: Callable[[Resource, TopicEntry], Mapping[str, str | None]],
    *,
    validate_only: bool,
) -> list[tuple[Resource, Failure]]:
    """Each resource with what became of it; `changes` says which values a topic is to get."""
    try:
        await broker.directory.refresh()
    except InklessError as error:
        return [(resource, failure_of(error)) for resource in resources]
    times_named = Counter((each.resource_type, each.resource_name) for each in resources)
    outcomes = []
    for resource in resources:
        try:
            if times_named[resource.resource_type, resource.resource_name] > 1:
                raise RequestError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            _check_no_duplicates(config.name for config in resource.configs)
            if resource.resource_type == ResourceType.BROKER:
                _check_is_this_broker(broker, resource.resource_name)
                _refuse_broker_configs(broker, [config.name for config in resource.configs])
            else:
                entry = _topic(broker, resource.resource_type, resource.resource_name)
                new = changes(resource, entry)
                await broker.topic_changes.alter_configs(entry, new, validate_only=validate_only)
        except InklessError as error:
            outcomes.append((resource, failure_of(error)))
        else:
            outcomes.append((resource, Failure(ErrorCode.NONE)))
    return outcomes


def _topic(broker: BrokerContext, resource_type: int, name: str) -> TopicEntry:
    if resource_type != ResourceType.TOPIC:
        raise RequestError(
            ErrorCode.INVALID_REQUEST, f"Resources of type {resource_type} have no configs here."
        )
    check_topic_name(name)
    entry = broker.directory.by_name(name)
    if entry is None:
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic '{name}'.")
    return entry


def _check_is_this_broker(broker: BrokerContext, name: str) -> None:
    node_id = broker.settings.server.node_id
    if name not in (str(node_id), _ALL_BROKERS):
        raise RequestError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {node_id} or empty string, but received {name}",
        )


def _refuse_broker_configs(broker: BrokerContext, names: Sequence[str]) -> None:
    if not names:
        return
    unknown = set(names).difference(row.name for row in describe_broker(broker.settings))
    if unknown:
        raise RequestError(ErrorCode.INVALID_CONFIG, f"Unknown broker config name: {min(unknown)}")
    raise RequestError(
        ErrorCode.INVALID_REQUEST,
        f"{names[0]} cannot be changed while the broker runs; change its configuration and start it again.",
    )


def _check_no_duplicates(names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Duplicate config key: {name}")

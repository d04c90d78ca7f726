"""What an operator does to a cluster. Each call raises RequestError when the cluster refuses it."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple, TypeVar

from inkless.client.answers import check
from inkless.client.cluster import Cluster
from inkless.client.connection import Connection
from inkless.client.offsets import OffsetAnswer, list_offsets
from inkless.client.topology import Address, BrokerView, TopicPartition, TopicView
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)

Response = TypeVar("Response")

CLUSTER_DEFAULT: Final = -1
"""As partition count or replication factor: what the cluster is configured to give."""

_UNKNOWN_TOPIC: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})
_OPERATION_SET: Final = 0
_OPERATION_DELETE: Final = 1


class ResourceType(IntEnum):
    """What a configuration belongs to."""

    TOPIC = 2
    BROKER = 4


class Resource(NamedTuple):
    """A topic by name, or a broker by node id; the broker "" stands for the default of all."""

    kind: ResourceType
    name: str


class ConfigEntry(NamedTuple):
    """One setting; `value` is None when it is secret, `source` is Kafka's number (1 topic, 5 default)."""

    name: str
    value: str | None
    source: int
    read_only: bool
    sensitive: bool
    documentation: str | None


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic to be created."""

    name: str
    partition_count: int = CLUSTER_DEFAULT
    replication_factor: int = CLUSTER_DEFAULT
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """Who is in the cluster."""

    cluster_id: str
    controller_id: int
    brokers: tuple[BrokerView, ...]


class Admin:
    """Administrative requests over a cluster, repeated while the cluster says that they may succeed later."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._timeout_ms = cluster.settings.connection.request_timeout_ms

    async def create_topic(self, spec: TopicSpec, *, validate_only: bool = False) -> None:
        message = CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name=spec.name,
                    num_partitions=spec.partition_count,
                    replication_factor=spec.replication_factor,
                    configs=[CreatableTopicConfig(name=k, value=v) for k, v in spec.configs.items()],
                )
            ],
            timeout_ms=self._timeout_ms,
            validate_only=validate_only,
        )

        def judge(response: CreateTopicsResponse) -> None:
            for result in response.topics:
                check(result.error_code, f"create topic {result.name}", result.error_message)

        await self._ask_controller(message, CreateTopicsResponse, judge)

    async def delete_topic(self, name: str) -> None:
        message = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name)], topic_names=[name], timeout_ms=self._timeout_ms
        )

        def judge(response: DeleteTopicsResponse) -> None:
            for result in response.responses:
                check(result.error_code, f"delete topic {name}", result.error_message)

        await self._ask_controller(message, DeleteTopicsResponse, judge)
        self._cluster.forget((name,))

    async def add_partitions(self, name: str, *, total_count: int) -> None:
        message = CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name=name, count=total_count)], timeout_ms=self._timeout_ms
        )

        def judge(response: CreatePartitionsResponse) -> None:
            for result in response.results:
                check(result.error_code, f"add partitions to {name}", result.error_message)

        await self._ask_controller(message, CreatePartitionsResponse, judge)
        self._cluster.forget((name,))

    async def list_topics(self) -> list[TopicView]:
        """All topics, by name."""
        view = await self._cluster.retrying(lambda: self._cluster.refresh(None))
        return sorted(view.topics.values(), key=lambda topic: topic.name)

    async def describe_topics(self, names: Iterable[str]) -> list[TopicView]:
        """The given topics as they are now; an unknown one raises RequestError."""
        names = tuple(names)
        self._cluster.forget(names)
        view = await self._cluster.retrying(
            lambda: self._cluster.know_topics(names), topics=names, fatal=_UNKNOWN_TOPIC
        )
        return [view.topic(name) for name in names]

    async def describe_cluster(self) -> ClusterDescription:
        def judge(response: DescribeClusterResponse) -> None:
            check(response.error_code, "describe cluster", response.error_message)

        response = await self._ask_any(DescribeClusterRequest(), DescribeClusterResponse, judge)
        return ClusterDescription(
            cluster_id=response.cluster_id,
            controller_id=response.controller_id,
            brokers=tuple(
                BrokerView(broker.broker_id, Address(broker.host, broker.port), broker.rack)
                for broker in sorted(response.brokers, key=lambda broker: broker.broker_id)
            ),
        )

    async def describe_configs(self, resource: Resource) -> dict[str, ConfigEntry]:
        """Every setting of a topic or broker, by name."""
        message = DescribeConfigsRequest(
            resources=[DescribeConfigsResource(resource_type=resource.kind, resource_name=resource.name)],
            include_documentation=True,
        )

        def judge(response: DescribeConfigsResponse) -> None:
            for result in response.results:
                check(result.error_code, f"configuration of {resource.name}", result.error_message)

        response = await self._ask_any(message, DescribeConfigsResponse, judge)
        return {
            config.name: _config_entry(config) for result in response.results for config in result.configs
        }

    async def alter_configs(
        self, resource: Resource, *, assign: Mapping[str, str] | None = None, reset: Iterable[str] = ()
    ) -> None:
        """Sets some settings and returns others to their default; the rest stays as it is."""
        configs = [
            IncrementalAlterableConfig(name=name, config_operation=_OPERATION_SET, value=value)
            for name, value in (assign or {}).items()
        ]
        configs += [
            IncrementalAlterableConfig(name=name, config_operation=_OPERATION_DELETE) for name in reset
        ]
        message = IncrementalAlterConfigsRequest(
            resources=[
                IncrementalAlterConfigsResource(
                    resource_type=resource.kind, resource_name=resource.name, configs=configs
                )
            ]
        )

        def judge(response: IncrementalAlterConfigsResponse) -> None:
            for result in response.responses:
                check(result.error_code, f"configuration of {resource.name}", result.error_message)

        await self._ask_controller(message, IncrementalAlterConfigsResponse, judge)

    async def list_offsets(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAnswer]:
        """Offsets by timestamp, or by LATEST, EARLIEST and MAX_TIMESTAMP of `inkless.client.offsets`."""
        return await list_offsets(self._cluster, timestamps, fatal=_UNKNOWN_TOPIC)

    async def delete_records(self, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Deletes the records below an offset (-1: all there are); returns the new log start offsets."""
        starts: dict[TopicPartition, int] = {}

        async def attempt() -> None:
            left = [place for place in before if place not in starts]
            for leader, places in (await self._cluster.group_by_leader(left)).items():
                connection = await self._cluster.connection_to(leader)
                message = _delete_records_request(
                    {place: before[place] for place in places}, timeout_ms=self._timeout_ms
                )
                response = await connection.request(message, DeleteRecordsResponse)
                for topic in response.topics:
                    for result in topic.partitions:
                        place = TopicPartition(topic.name, result.partition_index)
                        check(result.error_code, f"delete records of {place}")
                        starts[place] = result.low_watermark

        await self._cluster.retrying(attempt, topics={place.topic for place in before}, fatal=_UNKNOWN_TOPIC)
        return starts

    async def _ask_any(
        self, message: object, response_class: type[Response], judge: Callable[[Response], None]
    ) -> Response:
        return await self._ask(self._cluster.any_connection, message, response_class, judge)

    async def _ask_controller(
        self, message: object, response_class: type[Response], judge: Callable[[Response], None]
    ) -> Response:
        return await self._ask(self._cluster.controller_connection, message, response_class, judge)

    async def _ask(
        self,
        connect: Callable[[], Awaitable[Connection]],
        message: object,
        response_class: type[Response],
        judge: Callable[[Response], None],
    ) -> Response:
        async def attempt() -> Response:
            connection = await connect()
            response = await connection.request(message, response_class)
            judge(response)
            return response

        return await self._cluster.retrying(attempt, fatal=_UNKNOWN_TOPIC)


def _config_entry(config: DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        name=config.name,
        value=config.value,
        source=config.config_source,
        read_only=config.read_only,
        sensitive=config.is_sensitive,
        documentation=config.documentation,
    )


def _delete_records_request(before: Mapping[TopicPartition, int], *, timeout_ms: int) -> DeleteRecordsRequest:
    by_topic: dict[str, list[DeleteRecordsPartition]] = {}
    for place, offset in before.items():
        by_topic.setdefault(place.topic, []).append(
            DeleteRecordsPartition(partition_index=place.partition, offset=offset)
        )
    return DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=name, partitions=parts) for name, parts in by_topic.items()],
        timeout_ms=timeout_ms,
    )

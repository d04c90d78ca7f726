"""Addresses, and what a cluster says of itself in a Metadata response."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

from inkless.client.answers import known_code
from inkless.errors import ConfigurationError, RequestError
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import MetadataResponse, MetadataResponseTopic
from inkless.protocol.wire_types import NO_UUID

DEFAULT_PORT: Final = 9092
_PORT_MAX: Final = 65535
NO_LEADER: Final = -1


class TopicPartition(NamedTuple):
    """A partition by the name of its topic, as clients speak of it."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_bootstrap(servers: str) -> tuple[Address, ...]:
    """Reads `host:port,host:port`; a missing port is 9092, an IPv6 address stands in brackets."""
    addresses = tuple(_parse_address(part.strip()) for part in servers.split(",") if part.strip())
    if not addresses:
        raise ConfigurationError(f"bootstrap.servers is {servers!r}; it must name at least one host:port")
    return addresses


def _parse_address(text: str) -> Address:
    host, port = text, str(DEFAULT_PORT)
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ConfigurationError(
                f"bootstrap.servers has {text!r}; an IPv6 address is written [host]:port"
            )
        port = rest[1:] or port
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    elif ":" in text:
        raise ConfigurationError(f"bootstrap.servers has {text!r}; an IPv6 address is written [host]:port")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) <= _PORT_MAX:
        raise ConfigurationError(
            f"bootstrap.servers has {text!r}; each entry must be host:port, port 1-{_PORT_MAX}"
        )
    return Address(host, int(port))


@dataclass(frozen=True, slots=True)
class BrokerView:
    """A broker as the cluster lists it."""

    node_id: int
    address: Address
    rack: str | None


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A partition and who leads it; `leader_id` is `NO_LEADER` when nobody does."""

    index: int
    leader_id: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicView:
    """A topic that exists; `topic_id` is `NO_UUID` when the broker is too old to tell."""

    name: str
    topic_id: bytes
    is_internal: bool
    partitions: Mapping[int, PartitionView]

    @property
    def has_id(self) -> bool:
        return self.topic_id != NO_UUID


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The last that was heard; topics accumulate, brokers are replaced."""

    cluster_id: str | None = None
    controller_id: int = -1
    brokers: Mapping[int, BrokerView] = field(default_factory=dict)
    topics: Mapping[str, TopicView] = field(default_factory=dict)
    refused: Mapping[str, ErrorCode] = field(default_factory=dict)
    """Topics that were asked for and answered with an error."""

    def merged(self, response: MetadataResponse) -> Self:
        """This view, brought up to date by a response about some or all topics."""
        topics = dict(self.topics)
        refused = dict(self.refused)
        for topic in response.topics:
            name = topic.name or ""
            topics.pop(name, None)
            refused.pop(name, None)
            if topic.error_code == ErrorCode.NONE:
                topics[name] = _topic_view(name, topic)
            else:
                refused[name] = known_code(topic.error_code)
        return type(self)(
            cluster_id=response.cluster_id,
            controller_id=response.controller_id,
            brokers={
                broker.node_id: BrokerView(broker.node_id, Address(broker.host, broker.port), broker.rack)
                for broker in response.brokers
            },
            topics=topics,
            refused=refused,
        )

    def without(self, names: Iterable[str]) -> Self:
        """This view without some topics, which will be asked for again when they are needed."""
        gone = frozenset(names)
        return type(self)(
            cluster_id=self.cluster_id,
            controller_id=self.controller_id,
            brokers=self.brokers,
            topics={name: topic for name, topic in self.topics.items() if name not in gone},
            refused={name: code for name, code in self.refused.items() if name not in gone},
        )

    def topic(self, name: str) -> TopicView:
        """A known topic, or the RequestError that the cluster gave instead."""
        if (topic := self.topics.get(name)) is not None:
            return topic
        code = self.refused.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        raise RequestError(code, f"topic {name}: {code.name}")

    def leader(self, place: TopicPartition) -> BrokerView:
        """The living leader of a partition, or a retriable RequestError."""
        partition = self.topic(place.topic).partitions.get(place.partition)
        if partition is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {place}")
        broker = self.brokers.get(partition.leader_id)
        if broker is None:
            raise RequestError(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {place} has no leader")
        return broker


def _topic_view(name: str, topic: MetadataResponseTopic) -> TopicView:
    partitions = {
        partition.partition_index: PartitionView(
            index=partition.partition_index,
            leader_id=partition.leader_id,
            leader_epoch=partition.leader_epoch,
            replicas=tuple(partition.replica_nodes),
            in_sync=tuple(partition.isr_nodes),
        )
        for partition in sorted(topic.partitions, key=lambda partition: partition.partition_index)
    }
    return TopicView(name=name, topic_id=topic.topic_id, is_internal=topic.is_internal, partitions=partitions)

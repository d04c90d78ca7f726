"""Which broker to ask, and asking again: everything above it speaks of topics, never of sockets."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self, TypeVar

from inkless.client.answers import check
from inkless.client.connection import Connection, ConnectionSettings
from inkless.client.topology import Address, BrokerView, ClusterView, TopicPartition
from inkless.clock import Clock, Entropy
from inkless.errors import RequestError, Unavailable
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import MetadataRequest, MetadataRequestTopic, MetadataResponse

log = logging.getLogger(__name__)

Result = TypeVar("Result")

_BACKOFF_GROWTH: Final = 2
NOTHING_FATAL: Final[frozenset[ErrorCode]] = frozenset()


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """How long to try, how often, and how each connection behaves."""

    operation_timeout_ms: int = 60_000
    retry_backoff_ms: int = 50
    retry_backoff_max_ms: int = 1_000
    metadata_max_age_ms: int = 300_000
    allow_auto_topic_creation: bool = False
    connection: ConnectionSettings = field(default_factory=ConnectionSettings)


class Cluster:
    """Connections to the brokers of one cluster, opened when needed, and what is known about its topics."""

    def __init__(
        self,
        bootstrap: Iterable[Address],
        *,
        clock: Clock,
        entropy: Entropy,
        settings: ClusterSettings | None = None,
    ) -> None:
        self._bootstrap = tuple(bootstrap)
        self._clock = clock
        self._entropy = entropy
        self.settings = settings or ClusterSettings()
        self._connections: dict[Address, Connection] = {}
        self._opening: dict[Address, asyncio.Lock] = {}
        self._view = ClusterView()
        self._learned_at: dict[str, float] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        connections = list(self._connections.values())
        self._connections.clear()
        for connection in connections:
            await connection.close()

    @property
    def view(self) -> ClusterView:
        """What is known now; `refresh` and `know_topics` bring it up to date."""
        return self._view

    async def connection_to(self, broker: BrokerView) -> Connection:
        return await self._connection_at(broker.address)

    async def any_connection(self) -> Connection:
        """A connection to some broker: an open one, else the first of those known that can be reached."""
        for connection in self._connections.values():
            if not connection.is_closed:
                return connection
        known = [broker.address for broker in self._view.brokers.values()]
        refusals: list[str] = []
        for address in dict.fromkeys((*self._bootstrap, *known)):
            try:
                return await self._connection_at(address)
            except Unavailable as error:
                refusals.append(str(error))
        raise Unavailable("no broker can be reached: " + "; ".join(refusals))

    async def controller_connection(self) -> Connection:
        """The broker that takes administrative requests, or any, when the cluster names none."""
        if not self._view.brokers:
            await self.refresh(())
        controller = self._view.brokers.get(self._view.controller_id)
        return await self.any_connection() if controller is None else await self.connection_to(controller)

    async def refresh(self, topics: Iterable[str] | None) -> ClusterView:
        """Asks for metadata of the given topics, or of all when None; () asks for the brokers alone."""
        connection = await self.any_connection()
        names = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        response = await connection.request(
            MetadataRequest(topics=names, allow_auto_topic_creation=self.settings.allow_auto_topic_creation),
            MetadataResponse,
        )
        check(response.error_code, "metadata")
        self._view = self._view.merged(response)
        now = self._clock.monotonic()
        self._learned_at.update((topic.name or "", now) for topic in response.topics)
        return self._view

    async def know_topics(self, topics: Iterable[str]) -> ClusterView:
        """Sees to it that fresh metadata of these topics is at hand; an unknown one raises RequestError."""
        oldest = self._clock.monotonic() - self.settings.metadata_max_age_ms / 1000
        missing = [
            name
            for name in dict.fromkeys(topics)
            if name not in self._view.topics or self._learned_at.get(name, oldest) <= oldest
        ]
        if missing:
            await self.refresh(missing)
            for name in missing:
                self._view.topic(name)
        return self._view

    def forget(self, topics: Iterable[str]) -> None:
        """Metadata of these topics has proved wrong, and will be asked for again."""
        self._view = self._view.without(topics)

    async def group_by_leader(
        self, places: Iterable[TopicPartition]
    ) -> dict[BrokerView, list[TopicPartition]]:
        """The partitions, by the broker that leads them."""
        places = tuple(places)
        view = await self.know_topics(place.topic for place in places)
        by_leader: dict[BrokerView, list[TopicPartition]] = {}
        for place in places:
            by_leader.setdefault(view.leader(place), []).append(place)
        return by_leader

    async def request_to_leader(
        self, place: TopicPartition, message: object, response_class: type[Result]
    ) -> Result:
        """One request to the leader of one partition, without a second try."""
        view = await self.know_topics((place.topic,))
        connection = await self.connection_to(view.leader(place))
        return await connection.request(message, response_class)

    async def retrying(
        self,
        attempt: Callable[[], Awaitable[Result]],
        *,
        topics: Iterable[str] = (),
        fatal: frozenset[ErrorCode] = NOTHING_FATAL,
        timeout_ms: int | None = None,
    ) -> Result:
        """Repeats an attempt while its error may pass, until the deadline; the last error is then raised.

        Metadata of `topics` is forgotten between attempts. A code in `fatal` is not retried, whatever Kafka
        says of it in general: an unknown topic will not appear for somebody who only asks about it.
        """
        timeout_ms = self.settings.operation_timeout_ms if timeout_ms is None else timeout_ms
        deadline = self._clock.monotonic() + timeout_ms / 1000
        topics = tuple(topics)
        backoff_ms = self.settings.retry_backoff_ms
        while True:
            try:
                return await attempt()
            except (Unavailable, RequestError) as error:
                if isinstance(error, RequestError) and (error.code in fatal or not error.code.is_retriable):
                    raise
                # Half of the pause is chance, so that clients who failed together do not return together.
                pause = backoff_ms * (0.5 + self._entropy.uniform() / 2) / 1000
                if self._clock.monotonic() + pause >= deadline:
                    raise
                log.debug("trying again in %.3f s: %s", pause, error)
            self.forget(topics)
            await self._clock.sleep(pause)
            backoff_ms = min(backoff_ms * _BACKOFF_GROWTH, self.settings.retry_backoff_max_ms)

    async def _connection_at(self, address: Address) -> Connection:
        async with self._opening.setdefault(address, asyncio.Lock()):
            connection = self._connections.get(address)
            if connection is None or connection.is_closed:
                connection = await Connection.open(address, self.settings.connection)
                self._connections[address] = connection
            return connection

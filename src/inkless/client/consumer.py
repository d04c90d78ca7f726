"""Reads assigned partitions: one fetch per leader is under way while the runs before it are being used."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, NamedTuple, Self

from inkless.client.answers import check, refusal
from inkless.client.cluster import Cluster
from inkless.client.fetch_exchange import FetchedRun, FetchExchange, FetchLimits
from inkless.client.offsets import EARLIEST, LATEST, list_offsets
from inkless.client.topology import BrokerView, TopicPartition
from inkless.clock import Clock, TaskOwner
from inkless.errors import RequestError, Unavailable
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import FetchResponse, PartitionData

_NO_OFFSET: Final = -1
_NO_REPLICA: Final = -1


class Start(NamedTuple):
    """Where to begin: at an offset, or at the first record at or after a time (or at EARLIEST or LATEST)."""

    offset: int | None = None
    timestamp_ms: int = EARLIEST


FROM_EARLIEST: Final = Start()
FROM_LATEST: Final = Start(timestamp_ms=LATEST)


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """How much is fetched at once, where the reading ends, and what to do about an offset that is gone."""

    limits: FetchLimits = field(default_factory=FetchLimits)
    out_of_range: Start | None = None
    """Where to go on instead; None raises the broker's error."""
    until_end: bool = False
    """Stop where each partition ended when the reading began."""


class _UnderWay(NamedTuple):
    broker: BrokerView
    exchange: FetchExchange


class Consumer:
    """Iterate over `runs()`; close it, or use it as an asynchronous context manager.

    It needs a cluster of its own: answers leave a broker in the order of the requests, so whoever shares the
    connections waits behind fetches that wait for data.
    """

    def __init__(
        self,
        cluster: Cluster,
        assignment: Mapping[TopicPartition, Start],
        *,
        clock: Clock,
        settings: ConsumerSettings | None = None,
    ) -> None:
        self._cluster = cluster
        self._assignment = dict(assignment)
        self._clock = clock
        self._settings = settings or ConsumerSettings()
        self._tasks = TaskOwner("consumer")
        self._positions: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._preferred_replicas: dict[TopicPartition, int] = {}
        self._under_way: dict[asyncio.Task[FetchResponse | Unavailable], _UnderWay] = {}
        self._answered_at = 0.0

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
        await self._tasks.close()

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """The next offset to be fetched of each partition, once the reading has begun."""
        return self._positions

    async def runs(self) -> AsyncIterator[FetchedRun]:
        """What is read, in offset order within a partition; ends only with `until_end`."""
        await self._find_positions(self._assignment)
        if self._settings.until_end:
            ends = await list_offsets(self._cluster, dict.fromkeys(self._assignment, LATEST))
            self._ends = {place: answer.offset for place, answer in ends.items()}
        self._answered_at = self._clock.monotonic()
        await self._start_fetches()
        while self._under_way:
            done, _ = await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED)
            runs = [run for task in done for run in await self._take(task)]
            # The next fetch is on its way before the caller begins to decode this one.
            await self._start_fetches()
            for run in runs:
                yield run

    async def _find_positions(self, starts: Mapping[TopicPartition, Start]) -> None:
        by_time = {place: start.timestamp_ms for place, start in starts.items() if start.offset is None}
        found = await list_offsets(self._cluster, by_time)
        after_all = [place for place, answer in found.items() if answer.offset == _NO_OFFSET]
        found |= await list_offsets(self._cluster, dict.fromkeys(after_all, LATEST))
        for place, start in starts.items():
            self._positions[place] = found[place].offset if start.offset is None else start.offset

    async def _start_fetches(self) -> None:
        """Starts a fetch at every broker that has partitions to be read and no fetch under way."""
        busy = {place for fetch in self._under_way.values() for place in fetch.exchange.positions}
        idle = [
            place
            for place, position in self._positions.items()
            if place not in busy and (not self._settings.until_end or position < self._ends[place])
        ]
        if not idle:
            return
        by_broker = await self._cluster.retrying(
            lambda: self._group_by_broker(idle), topics={place.topic for place in idle}
        )
        for fetch in self._under_way.values():
            by_broker.pop(fetch.broker, None)
        for broker, places in by_broker.items():
            positions = {place: self._positions[place] for place in places}
            exchange = FetchExchange(positions, self._cluster.view, self._settings.limits)
            task = self._tasks.spawn(self._fetch(broker, exchange))
            self._under_way[task] = _UnderWay(broker, exchange)

    async def _group_by_broker(
        self, places: Iterable[TopicPartition]
    ) -> dict[BrokerView, list[TopicPartition]]:
        """By the leader, or by the replica that the leader has named as the better one to read (KIP-392)."""
        by_broker: dict[BrokerView, list[TopicPartition]] = {}
        for leader, led in (await self._cluster.group_by_leader(places)).items():
            for place in led:
                replica_id = self._preferred_replicas.get(place, _NO_REPLICA)
                replica = self._cluster.view.brokers.get(replica_id, leader)
                by_broker.setdefault(replica, []).append(place)
        return by_broker

    async def _fetch(self, broker: BrokerView, exchange: FetchExchange) -> FetchResponse | Unavailable:
        try:
            connection = await self._cluster.connection_to(broker)
            return await connection.request(exchange.message, FetchResponse, version_max=exchange.version_max)
        except Unavailable as error:
            return error

    async def _take(self, task: "asyncio.Task[FetchResponse | Unavailable]") -> list[FetchedRun]:
        """Moves the positions behind what a fetch has brought."""
        exchange = self._under_way.pop(task).exchange
        response = task.result()
        if isinstance(response, Unavailable):
            await self._back_off(exchange.positions, response)
            return []
        check(response.error_code, "fetch")
        runs: list[FetchedRun] = []
        for place, data in exchange.answers(response):
            if data.error_code != ErrorCode.NONE:
                await self._recover(place, data)
            elif data.preferred_read_replica != _NO_REPLICA:
                self._preferred_replicas[place] = data.preferred_read_replica
            elif (run := exchange.run(place, data)) is not None:
                runs.append(self._advance(run))
        self._answered_at = self._clock.monotonic()
        return runs

    def _advance(self, run: FetchedRun) -> FetchedRun:
        place = run.place
        # To the end of the line, so that the next answer has room for the partitions that got nothing.
        del self._positions[place]
        self._positions[place] = max(run.start_offset, run.end_offset)
        if self._settings.until_end:
            return run._replace(end_offset=min(run.end_offset, self._ends[place]))
        return run

    async def _recover(self, place: TopicPartition, data: PartitionData) -> None:
        """Makes the next fetch of a partition better than the one that failed, or raises its error."""
        error = refusal(data.error_code, f"fetch of {place} at {self._positions[place]}")
        self._preferred_replicas.pop(place, None)
        if error.code is ErrorCode.OFFSET_OUT_OF_RANGE and self._settings.out_of_range is not None:
            await self._find_positions({place: self._settings.out_of_range})
        elif error.code.is_retriable:
            await self._back_off((place,), error)
        else:
            raise error

    async def _back_off(self, places: Iterable[TopicPartition], error: Unavailable | RequestError) -> None:
        """Waits a moment, unless no fetch has been answered for as long as an operation may take."""
        settings = self._cluster.settings
        if self._clock.monotonic() - self._answered_at > settings.operation_timeout_ms / 1000:
            raise error
        for place in places:
            self._preferred_replicas.pop(place, None)
        self._cluster.forget({place.topic for place in places})
        await self._clock.sleep(settings.retry_backoff_ms / 1000)

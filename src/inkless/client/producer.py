"""Sends records: gathers them into batches, keeps several requests in flight, repeats what may be repeated."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

from inkless.client.answers import check, refusal
from inkless.client.cluster import Cluster
from inkless.client.connection import Connection
from inkless.client.outbox import Lane, Outbox, OutboxSettings, ProducerIdentity
from inkless.client.partitioner import StickyPartitioner
from inkless.client.pending import NO_OFFSET, Delivery, OnDelivered, OutgoingRecord, PendingBatch
from inkless.client.topology import BrokerView, TopicPartition
from inkless.clock import Clock, Entropy, TaskOwner
from inkless.errors import RequestError, Unavailable
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from inkless.records.compress import Codec
from inkless.records.record import Headers

_VERSION_WITHOUT_TOPIC_IDS: Final = 12
_NO_APPEND_TIME: Final = -1
_NO_TRANSACTION_TIMEOUT_MS: Final = 2**31 - 1
_MISSING: Final = PartitionProduceResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """How records are gathered and sent."""

    acks: int = -1
    idempotent: bool = False
    codec: Codec = Codec.NONE
    buffer_bytes_max: int = 32 << 20
    request_bytes_max: int = 1 << 20
    """Soft: a request holds one batch at least."""
    requests_in_flight_max: int = 8
    """Per broker."""
    outbox: OutboxSettings = field(default_factory=OutboxSettings)


class Producer:
    """Use as an asynchronous context manager: leaving it flushes and ends it."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        clock: Clock,
        entropy: Entropy,
        settings: ProducerSettings | None = None,
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._settings = settings or ProducerSettings()
        if self._settings.idempotent and self._settings.acks != -1:
            raise ValueError("an idempotent producer needs acks -1")
        self._partitioner = StickyPartitioner(entropy)
        self._outbox = Outbox(self._settings.outbox, idempotent=self._settings.idempotent)
        self._tasks = TaskOwner("producer")
        self._wake = asyncio.Event()
        self._progress = asyncio.Condition()
        self._held_bytes = 0
        self._requests_in_flight: dict[int, int] = {}
        self._first_identity: ProducerIdentity | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        self._tasks.spawn(self._send_forever())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            await self.flush()
        await self.close()

    async def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> "asyncio.Future[Delivery]":
        """Takes a record and returns the future of its place; waits only while the buffer is full."""
        future: asyncio.Future[Delivery] = asyncio.get_running_loop().create_future()

        def on_delivered(delivery: Delivery | None, error: Exception | None) -> None:
            if future.done():
                return
            if delivery is not None:
                future.set_result(delivery)
            elif error is not None:
                future.set_exception(error)

        await self.post(
            topic,
            value,
            key=key,
            headers=headers,
            partition=partition,
            timestamp_ms=timestamp_ms,
            on_delivered=on_delivered,
        )
        return future

    async def post(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
        on_delivered: OnDelivered | None = None,
    ) -> None:
        """As `send`, but with a callback or nothing at all instead of a future, which costs less."""
        if self._closed:
            raise Unavailable("the producer is closed")
        timestamp_ms = self._clock.now_ms() if timestamp_ms is None else timestamp_ms
        record = OutgoingRecord(key, value, headers, timestamp_ms, on_delivered)
        size = record.bytes_max
        if self._held_bytes + size > self._settings.buffer_bytes_max and self._held_bytes:
            await self._wait_for_room(size)
        known = self._cluster.view.topics.get(topic)
        if known is None:
            await self._cluster.retrying(lambda: self._cluster.know_topics((topic,)), topics=(topic,))
            known = self._cluster.view.topic(topic)
        count = len(known.partitions)
        if partition is None:
            partition = self._partitioner.choose(topic, key, count)
        lane = self._outbox.lane(TopicPartition(topic, partition))
        was_idle = lane.is_idle
        self._held_bytes += size
        closed_a_batch = lane.append(record, self._clock.monotonic())
        if closed_a_batch:
            self._partitioner.batch_closed(topic, partition, count)
        if closed_a_batch or was_idle:
            self._wake.set()

    async def flush(self) -> None:
        """Waits until every record taken so far is stored or lost, which the delivery time-out bounds."""
        batches = self._outbox.unsettled()
        for batch in batches:
            batch.is_closed = True
        self._wake.set()
        async with self._progress:
            await self._progress.wait_for(lambda: all(batch.is_settled for batch in batches))

    async def close(self) -> None:
        """Ends at once; records that are not stored yet are reported as lost."""
        self._closed = True
        await self._tasks.close()
        error = Unavailable("the producer was closed before the record was acknowledged")
        for batch in self._outbox.unsettled():
            batch.lost(error)

    async def _wait_for_room(self, size: int) -> None:
        timeout_ms = self._settings.outbox.delivery_timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000), self._progress:
                await self._progress.wait_for(
                    lambda: (
                        not self._held_bytes or self._held_bytes + size <= self._settings.buffer_bytes_max
                    )
                )
        except TimeoutError as error:
            raise Unavailable(
                f"the producer's buffer of {self._settings.buffer_bytes_max} bytes stayed full for "
                f"{timeout_ms} ms; the brokers do not keep up"
            ) from error

    async def _send_forever(self) -> None:
        while True:
            now = self._clock.monotonic()
            if expired := self._outbox.expire(now):
                await self._lose(expired, Unavailable("no broker took the record within the delivery time-out"))
            stalled = await self._send_ready()
            # When brokers have all the requests they may have, only an answer can change anything.
            wait_s = None if stalled else self._outbox.wait_s(self._clock.monotonic())
            try:
                async with asyncio.timeout(wait_s):
                    await self._wake.wait()
            except TimeoutError:
                continue
            self._wake.clear()

    async def _send_ready(self) -> bool:
        """Sends what is ready; true when something stays behind because a broker has enough to do."""
        stalled = False
        by_leader: dict[BrokerView, list[Lane]] = {}
        for lane in self._outbox.ready(self._clock.monotonic()):
            try:
                view = await self._cluster.know_topics((lane.place.topic,))
                leader = view.leader(lane.place)
                if lane.needs_identity:
                    lane.adopt(await self._identity_for(lane))
            except (Unavailable, RequestError):
                self._postpone(lane)
            else:
                by_leader.setdefault(leader, []).append(lane)
        for leader, lanes in by_leader.items():
            try:
                connection = await self._cluster.connection_to(leader)
            except Unavailable:
                for lane in lanes:
                    self._postpone(lane)
                continue
            stalled |= await self._send_to(leader, connection, lanes)
        return stalled

    async def _send_to(self, leader: BrokerView, connection: Connection, lanes: list[Lane]) -> bool:
        while lanes:
            in_flight = self._requests_in_flight.get(leader.node_id, 0)
            if in_flight >= self._settings.requests_in_flight_max or connection.is_closed:
                return True
            batches: dict[TopicPartition, PendingBatch] = {}
            size = 0
            now = self._clock.monotonic()
            for lane in lanes:
                if size >= self._settings.request_bytes_max:
                    break
                if lane.wait_s(now) == 0:
                    batches[lane.place] = batch = lane.take()
                    size += len(batch.seal(self._settings.codec))
            if not batches:
                return False
            self._requests_in_flight[leader.node_id] = in_flight + 1
            await self._send_batches(leader, connection, batches)
        return False

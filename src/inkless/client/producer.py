"""Sends records: a bounded buffer in front, batches behind, and for each record the word how it ended."""

import asyncio
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from inkless.client.cluster import Cluster
from inkless.client.outbox import Outbox
from inkless.client.partitioner import StickyPartitioner
from inkless.client.pending import Delivery, OnDelivered, OutgoingRecord, PendingBatch
from inkless.client.sender import ProducerSettings, Sender
from inkless.client.topology import TopicPartition
from inkless.clock import Clock, Entropy
from inkless.errors import ConfigurationError, Unavailable
from inkless.records.record import Headers


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
            raise ConfigurationError(f"acks is {self._settings.acks}; an idempotent producer needs -1 (all)")
        self._partitioner = StickyPartitioner(entropy)
        self._outbox = Outbox(self._settings.outbox, idempotent=self._settings.idempotent)
        self._sender = Sender(cluster, self._outbox, self._settings, clock=clock, on_settled=self._release)
        self._progress = asyncio.Condition()
        self._held_bytes = 0
        self._closed = False

    async def __aenter__(self) -> Self:
        self._sender.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                await self.flush()
        finally:
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
        """As `send`, with a callback or nothing at all instead of a future, which costs less."""
        if self._closed:
            raise Unavailable("the producer is closed")
        record = OutgoingRecord(
            key, value, headers, self._clock.now_ms() if timestamp_ms is None else timestamp_ms, on_delivered
        )
        size = record.bytes_max
        if not self._has_room(size):
            await self._wait_for_room(size)
        count = await self._partition_count(topic)
        if partition is None:
            partition = self._partitioner.choose(topic, key, count)
        lane = self._outbox.lane(TopicPartition(topic, partition))
        was_idle = lane.is_idle
        self._held_bytes += size
        closed_a_batch = lane.append(record, self._clock.monotonic())
        if closed_a_batch or was_idle:
            self._sender.wake()
        if closed_a_batch:
            self._partitioner.batch_closed(topic, partition, count)
            # A caller in a tight loop would keep the sender from running until the buffer is full.
            await self._clock.sleep(0)

    async def flush(self) -> None:
        """Waits until every record taken so far is stored or lost, which the delivery time-out bounds."""
        batches = self._outbox.unsettled()
        for batch in batches:
            batch.is_closed = True
        self._sender.wake()
        async with self._progress:
            await self._progress.wait_for(lambda: all(batch.is_settled for batch in batches))

    async def close(self) -> None:
        """Ends at once; records that are not stored yet are reported as lost."""
        self._closed = True
        await self._sender.close()
        error = Unavailable("the producer was closed before the record was acknowledged")
        for batch in self._outbox.unsettled():
            batch.lost(error)

    async def _partition_count(self, topic: str) -> int:
        known = self._cluster.view.topics.get(topic)
        if known is None:
            view = await self._cluster.retrying(lambda: self._cluster.know_topics((topic,)), topics=(topic,))
            known = view.topic(topic)
        return len(known.partitions)

    def _has_room(self, size: int) -> bool:
        # A record larger than the whole buffer may pass when it is alone.
        return not self._held_bytes or self._held_bytes + size <= self._settings.buffer_bytes_max

    async def _wait_for_room(self, size: int) -> None:
        timeout_ms = self._settings.outbox.delivery_timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000), self._progress:
                await self._progress.wait_for(lambda: self._has_room(size))
        except TimeoutError as error:
            raise Unavailable(
                f"the producer's buffer of {self._settings.buffer_bytes_max} bytes stayed full for "
                f"{timeout_ms} ms; the brokers do not keep up"
            ) from error

    async def _release(self, batches: Iterable[PendingBatch]) -> None:
        self._held_bytes -= sum(batch.held_bytes for batch in batches)
        async with self._progress:
            self._progress.notify_all()

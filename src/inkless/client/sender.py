"""The part of a producer that talks to brokers: one task that sends, one for each answer that is awaited."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from inkless.client.answers import check, known_code, refusal
from inkless.client.cluster import Cluster
from inkless.client.connection import Connection
from inkless.client.outbox import Lane, Outbox, OutboxSettings, ProducerIdentity
from inkless.client.pending import NO_OFFSET, PendingBatch
from inkless.client.produce_exchange import ProduceExchange, Verdict, judge
from inkless.client.topology import BrokerView, ClusterView, TopicPartition
from inkless.clock import Clock, TaskOwner
from inkless.errors import RequestError, Unavailable
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    PartitionProduceResponse,
    ProduceResponse,
)
from inkless.records.compress import Codec

_NO_TRANSACTION_TIMEOUT_MS: Final = 2**31 - 1
_STALLED_WAIT_S: Final = 0.005
"""How soon to look again when a broker has all the requests it may have; an answer comes sooner or not."""


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """How records are gathered and sent."""

    acks: int = -1
    idempotent: bool = False
    codec: Codec = Codec.NONE
    buffer_bytes_max: int = 32 << 20
    request_bytes_max: int = 1 << 20
    """Soft: a request holds at least one batch."""
    requests_in_flight_max: int = 8
    """For each broker."""
    outbox: OutboxSettings = field(default_factory=OutboxSettings)


class Sender:
    """Moves batches from the outbox to their leaders until each is settled, and reports every one that is."""

    def __init__(
        self,
        cluster: Cluster,
        outbox: Outbox,
        settings: ProducerSettings,
        *,
        clock: Clock,
        on_settled: Callable[[Iterable[PendingBatch]], Awaitable[None]],
    ) -> None:
        self._cluster = cluster
        self._outbox = outbox
        self._settings = settings
        self._clock = clock
        self._on_settled = on_settled
        self._tasks = TaskOwner("producer")
        self._wake = asyncio.Event()
        self._requests_in_flight: dict[int, int] = {}
        self._shared_identity: ProducerIdentity | None = None

    def start(self) -> None:
        self._tasks.spawn(self._send_forever())

    def wake(self) -> None:
        """There is something new in the outbox."""
        self._wake.set()

    async def close(self) -> None:
        await self._tasks.close()

    async def _send_forever(self) -> None:
        while True:
            if expired := self._outbox.expire(self._clock.monotonic()):
                await self._lose(
                    expired, Unavailable("no broker took the record within the delivery time-out")
                )
            stalled = await self._send_ready()
            wait_s = self._outbox.wait_s(self._clock.monotonic())
            if stalled and wait_s is not None:
                wait_s = max(wait_s, _STALLED_WAIT_S)
            try:
                async with asyncio.timeout(wait_s):
                    await self._wake.wait()
            except TimeoutError:
                continue
            self._wake.clear()

    async def _send_ready(self) -> bool:
        """Sends what is ready; true when something stays behind because its broker has enough to do."""
        lanes = self._outbox.ready(self._clock.monotonic())
        if not lanes:
            return False
        view = await self._current_view(lane.place.topic for lane in lanes)
        by_leader: dict[BrokerView, list[Lane]] = {}
        homeless: list[Lane] = []
        for lane in lanes:
            try:
                leader = view.leader(lane.place)
                if lane.needs_identity:
                    lane.adopt(await self._identity_for(lane))
                by_leader.setdefault(leader, []).append(lane)
            except (Unavailable, RequestError):
                homeless.append(lane)
        self._postpone(homeless)
        stalled = False
        for leader, ready in by_leader.items():
            try:
                connection = await self._cluster.connection_to(leader)
            except Unavailable:
                self._postpone(ready)
            else:
                stalled |= await self._send_to(leader, connection, ready)
        return stalled

    async def _current_view(self, topics: Iterable[str]) -> ClusterView:
        try:
            return await self._cluster.know_topics(topics)
        except (Unavailable, RequestError):
            # Other topics may be known all the same; those that are not will find no leader.
            return self._cluster.view

    async def _send_to(self, leader: BrokerView, connection: Connection, lanes: list[Lane]) -> bool:
        while True:
            if self._requests_in_flight.get(leader.node_id, 0) >= self._settings.requests_in_flight_max:
                return True
            batches = self._take(lanes)
            if not batches:
                return False
            await self._send_batches(leader, connection, batches)

    def _take(self, lanes: list[Lane]) -> dict[TopicPartition, PendingBatch]:
        """One batch of each lane that is ready, up to the size of a request."""
        batches: dict[TopicPartition, PendingBatch] = {}
        size = 0
        now = self._clock.monotonic()
        for lane in lanes:
            if lane.wait_s(now) == 0:
                batch = lane.take()
                batches[lane.place] = batch
                size += len(batch.seal(self._settings.codec))
                if size >= self._settings.request_bytes_max:
                    break
        return batches

    async def _send_batches(
        self, leader: BrokerView, connection: Connection, batches: dict[TopicPartition, PendingBatch]
    ) -> None:
        exchange = ProduceExchange(
            batches,
            self._cluster.view,
            codec=self._settings.codec,
            acks=self._settings.acks,
            timeout_ms=self._cluster.settings.connection.request_timeout_ms,
        )
        try:
            if self._settings.acks == 0:
                await connection.send_unanswered(exchange.message, version_max=exchange.version_max)
                await self._settle_all(batches.values(), ErrorCode.NONE)
                return
            answer = await connection.submit(
                exchange.message, ProduceResponse, version_max=exchange.version_max
            )
        except RequestError as error:
            await self._settle_all(batches.values(), error.code, str(error))
            return
        except Unavailable as error:
            await self._settle_all(batches.values(), ErrorCode.NETWORK_EXCEPTION, str(error))
            return
        self._requests_in_flight[leader.node_id] = self._requests_in_flight.get(leader.node_id, 0) + 1
        self._tasks.spawn(self._await_answer(leader, exchange, answer))

    async def _await_answer(
        self, leader: BrokerView, exchange: ProduceExchange, answer: "asyncio.Future[ProduceResponse]"
    ) -> None:
        try:
            response = await answer
        except Unavailable as error:
            await self._settle_all(exchange.batches.values(), ErrorCode.NETWORK_EXCEPTION, str(error))
        else:
            for batch, partition in exchange.answers(response):
                await self._settle(batch, partition)
        finally:
            self._requests_in_flight[leader.node_id] -= 1
            self._wake.set()

    async def _settle_all(
        self, batches: Iterable[PendingBatch], code: ErrorCode, message: str | None = None
    ) -> None:
        """One outcome for all batches of a request, which the broker has not told apart."""
        for batch in batches:
            await self._settle(
                batch,
                PartitionProduceResponse(error_code=code, base_offset=NO_OFFSET, error_message=message),
            )

    async def _settle(self, batch: PendingBatch, answer: PartitionProduceResponse) -> None:
        lane = self._outbox.lane(batch.place)
        code = known_code(answer.error_code)
        now = self._clock.monotonic()
        match judge(code, is_oldest=lane.is_oldest(batch)):
            case Verdict.STORED:
                given_up = lane.settled(batch, now)
                # A retry that came too late for the broker's memory is stored, but nobody knows where.
                base_offset = answer.base_offset if code is ErrorCode.NONE else NO_OFFSET
                batch.delivered(base_offset, answer.log_append_time_ms)
                await self._on_settled([batch])
            case Verdict.REFUSED:
                given_up = lane.refused(batch, now)
                await self._lose([batch], refusal(answer.error_code, str(batch.place), answer.error_message))
            case Verdict.TRY_AGAIN:
                self._cluster.forget((batch.place.topic,))
                given_up = lane.failed(batch, now, self._cluster.settings.retry_backoff_ms / 1000)
        if given_up:
            reason = f"{code.name} {answer.error_message or ''}".strip()
            await self._lose(
                given_up,
                Unavailable(f"{batch.place}: not stored within the delivery time-out; last: {reason}"),
            )

    async def _lose(self, batches: list[PendingBatch], error: Exception) -> None:
        for batch in batches:
            batch.lost(error)
        await self._on_settled(batches)

    def _postpone(self, lanes: Iterable[Lane]) -> None:
        """These have no broker to go to; what is known about their topics is asked for again."""
        retry_at = self._clock.monotonic() + self._cluster.settings.retry_backoff_ms / 1000
        topics = set()
        for lane in lanes:
            lane.retry_at = retry_at
            topics.add(lane.place.topic)
        self._cluster.forget(topics)

    async def _identity_for(self, lane: Lane) -> ProducerIdentity:
        """One for all lanes, until one loses a batch: it then needs sequence numbers that start anew."""
        if lane.had_identity:
            return await self._new_identity()
        if self._shared_identity is None:
            self._shared_identity = await self._new_identity()
        return self._shared_identity

    async def _new_identity(self) -> ProducerIdentity:
        connection = await self._cluster.any_connection()
        response = await connection.request(
            InitProducerIdRequest(transaction_timeout_ms=_NO_TRANSACTION_TIMEOUT_MS), InitProducerIdResponse
        )
        check(response.error_code, "producer id")
        return ProducerIdentity(response.producer_id, response.producer_epoch)

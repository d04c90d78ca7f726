"""Brokers that may die, storage and coordinator that may fail, their clients, and the history of it all."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from inkless.clock import Clock
from inkless.coordinator.contract import BatchCoordinator
from inkless.coordinator.types import (
    BatchFacts,
    DeleteRecordsRequest,
    FindRequest,
    PartitionId,
    TopicId,
)
from inkless.errors import Unavailable
from inkless.produce.append import Append
from inkless.protocol.error_codes import ErrorCode
from inkless.records.encode import ProducerStamp, encode_batch
from inkless.records.record import Record
from inkless.storage.contract import ObjectStore
from inkless.testing.faults import NO_FAULTS, CallFaults, FaultyCoordinator, FaultyStore, SeededEntropy
from simulation.broker_core import BrokerCore
from simulation.history import Attempt, Bounds, Broken, History

TOPIC_ID = TopicId(bytes(15) + b"\x01")
PARTITIONS = tuple(PartitionId(0, TOPIC_ID, index) for index in range(3))
EVERYTHING = 1 << 30
IN_FLIGHT_MAX = 5
BROKERS = 2
READ_ERRORS = (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.CORRUPT_MESSAGE)


class Faults(NamedTuple):
    """How bad things are."""

    puts: CallFaults = NO_FAULTS
    commits: CallFaults = NO_FAULTS
    reads: CallFaults = NO_FAULTS
    finds: CallFaults = NO_FAULTS
    damage: float = 0.0


@dataclass(eq=False)
class Ticket:
    """Waits for the answer to one attempt, for ever if its broker dies."""

    attempt: Attempt
    broker: int
    answer: Callable[["Ticket", ErrorCode, int], None]
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    def settle(self, place: int, error: ErrorCode, base_offset: int = -1, log_start_offset: int = -1) -> None:
        if not self.settled.is_set():
            self.answer(self, error, base_offset)
            self.settled.set()


@dataclass(eq=False)
class IdempotentProducer:
    """Sends its batches again, in order, until each is acknowledged."""

    producer_id: int
    partition: PartitionId
    next_sequence: int = 0
    unacknowledged: list[tuple[bytes, BatchFacts]] = field(default_factory=list)


class World:
    def __init__(
        self, *, store: ObjectStore, coordinator: BatchCoordinator, clock: Clock, seed: int | str
    ) -> None:
        self.entropy = SeededEntropy(seed)
        self.clock = clock
        self._real_store = store
        self._real_coordinator = coordinator
        self._store = FaultyStore(store, clock=clock, entropy=self.entropy)
        self._coordinator = FaultyCoordinator(coordinator, clock=clock, entropy=self.entropy)
        self.history = History()
        self.trace: list[tuple[object, ...]] = []
        self._broken: list[Broken] = []
        # A set that keeps its order, since those who wait are woken in it.
        self._tickets: dict[Ticket, None] = {}
        self._batches_made = 0
        self._brokers = [self._start() for _ in range(BROKERS)]

    def _start(self) -> BrokerCore:
        return BrokerCore(
            store=self._store, coordinator=self._coordinator, clock=self.clock, entropy=self.entropy
        )

    def suffer(self, faults: Faults) -> None:
        self._store.put_faults = faults.puts
        self._store.get_faults = faults.reads
        self._store.damage = faults.damage
        self._coordinator.commit_faults = faults.commits
        self._coordinator.find_faults = faults.finds

    async def restart(self, broker: int) -> None:
        """A broker dies with everything that it holds; a new one comes up on what is stored."""
        unanswered = [ticket for ticket in self._tickets if ticket.broker == broker]
        self._note("restart", broker, len(unanswered))
        died, self._brokers[broker] = self._brokers[broker], self._start()
        for ticket in unanswered:
            ticket.settled.set()
            del self._tickets[ticket]
        await died.kill()

    async def end(self) -> None:
        for broker in self._brokers:
            await broker.kill()

    # Producing

    def make_batch(
        self, *, record_count: int, byte_length: int = 0, producer: ProducerStamp | None = None
    ) -> tuple[bytes, BatchFacts]:
        """A batch that is like no other."""
        self._batches_made += 1
        stamp = producer or ProducerStamp()
        value = self._batches_made.to_bytes(4, "big") + bytes(byte_length)
        content = encode_batch(
            [Record(delta, self._batches_made, None, value) for delta in range(record_count)], producer=stamp
        )
        return content, BatchFacts(
            len(content),
            record_count,
            self._batches_made,
            stamp.producer_id,
            stamp.producer_epoch,
            stamp.base_sequence,
        )

    def send(
        self, partition: PartitionId, content: bytes, facts: BatchFacts, *, connection: int, broker: int
    ) -> Ticket:
        """A connection leads to one broker: its order is kept there and nowhere else."""
        ticket = Ticket(Attempt(partition, content, facts, connection), broker, self._answered)
        self.history.sent(ticket.attempt)
        self._tickets[ticket] = None
        self._brokers[broker].append(Append(partition, bytearray(content), [facts], ticket, 0))
        return ticket

    def _answered(self, ticket: Ticket, error: ErrorCode, base_offset: int) -> None:
        attempt = ticket.attempt
        self._note("answered", attempt.partition.index, attempt.facts[3:], error.name, base_offset)
        self._tickets.pop(ticket, None)
        try:
            self.history.answered(attempt, error, base_offset)
        except Broken as broken:
            # Raised here it would only reach the writer, which must survive its clients.
            self._broken.append(broken)

    async def settle(self) -> None:
        """Returns when every attempt is answered or its broker dead."""
        while self._tickets:
            await next(iter(self._tickets)).settled.wait()

    def enqueue(self, producer: IdempotentProducer, *, record_count: int) -> None:
        stamp = ProducerStamp(producer.producer_id, 0, producer.next_sequence)
        producer.unacknowledged.append(self.make_batch(record_count=record_count, producer=stamp))
        producer.next_sequence += record_count

    async def push(self, producer: IdempotentProducer, *, broker: int) -> None:
        """One round: all that is not acknowledged is sent, the answers are waited for. The next round may go
        to another broker, where nobody knows what the first one is still doing."""
        tickets = [
            self.send(producer.partition, content, facts, connection=-producer.producer_id, broker=broker)
            for content, facts in producer.unacknowledged[:IN_FLIGHT_MAX]
        ]
        for ticket in tickets:
            await ticket.settled.wait()
        acknowledged = [ticket.attempt.error is ErrorCode.NONE for ticket in tickets]
        if sorted(acknowledged, reverse=True) != acknowledged:
            # The answer to an earlier one may be lost; then it was committed all the same.
            self._note("answers lost", producer.producer_id)
        done = next((i for i, acked in enumerate(acknowledged) if not acked), len(tickets))
        del producer.unacknowledged[:done]

    # Consuming

    async def fetch(
        self,
        observer: str,
        positions: Sequence[tuple[PartitionId, int]],
        *,
        broker: int,
        bytes_max: int = EVERYTHING,
        bytes_min: int = 1,
        wait_ms: int = 0,
        partition_bytes_max: int = EVERYTHING,
    ) -> list[int]:
        """Gives the offsets to go on with."""
        wanted = [FindRequest(partition, offset, partition_bytes_max) for partition, offset in positions]
        try:
            found = await self._brokers[broker].fetch(
                wanted, bytes_max=bytes_max, bytes_min=bytes_min, wait_ms=wait_ms
            )
        except Unavailable:
            self._note("fetch unavailable")
            return [offset for _, offset in positions]
        nexts = []
        for (partition, offset), answer in zip(positions, found, strict=True):
            bounds = Bounds(answer.log_start_offset, answer.high_watermark)
            self.history.observed(observer, partition, bounds)
            self._note("fetched", partition.index, offset, answer.error.name, bounds, len(answer.records))
            if answer.error is ErrorCode.OFFSET_OUT_OF_RANGE:
                if bounds.log_start_offset <= offset <= bounds.high_watermark:
                    raise Broken(f"offset {offset} is within {bounds}")
                nexts.append(bounds.log_start_offset)
                continue
            if answer.error is not ErrorCode.NONE and answer.error not in READ_ERRORS:
                raise Broken(f"nothing was wrong with the fetch that was answered with {answer.error.name}")
            empty = answer.error is ErrorCode.NONE and not answer.records
            if empty and len(wanted) == 1 and offset != bounds.high_watermark:
                raise Broken(f"offset {offset} was withheld, the high watermark is {bounds}")
            nexts.append(self.history.read(partition, offset, answer.records, bounds.high_watermark))
        return nexts

    async def delete_records(self, partition: PartitionId, before_offset: int) -> None:
        (result,) = await self._real_coordinator.delete_records(
            [DeleteRecordsRequest(partition, before_offset)]
        )
        self._note("deleted", partition.index, before_offset, result.error.name, result.log_start_offset)

    async def bounds(self, observer: str, partition: PartitionId) -> Bounds:
        (answer,) = await self._real_coordinator.offset_bounds([partition])
        bounds = Bounds(answer.log_start_offset, answer.high_watermark)
        self.history.observed(observer, partition, bounds)
        return bounds

    # Checking

    async def check(self) -> None:
        """Everybody is at rest and nothing fails any more: all that was promised must be there."""
        self.suffer(Faults())
        await self.settle()
        for broken in self._broken:
            raise broken
        for partition in PARTITIONS:
            # Deletes nothing, but stands in line behind commits that were given up on and still under way.
            await self.delete_records(partition, 0)
        for partition in PARTITIONS:
            bounds = await self.bounds("check", partition)
            await self._check_durable(partition, bounds)
            for broker in self._brokers:
                records = await self._read_all(broker, partition, bounds)
                self.history.check_log(partition, bounds, records)

    async def _read_all(self, broker: BrokerCore, partition: PartitionId, bounds: Bounds) -> list[memoryview]:
        records: list[memoryview] = []
        offset = bounds.log_start_offset
        while offset < bounds.high_watermark:
            (answer,) = await broker.fetch(
                [FindRequest(partition, offset, 1000)], bytes_max=1000, bytes_min=1, wait_ms=0
            )
            if answer.error is not ErrorCode.NONE:
                raise Broken(f"offset {offset} cannot be read: {answer.error.name}")
            records += answer.records
            offset = self.history.read(partition, offset, answer.records, bounds.high_watermark)
        return records

    async def _check_durable(self, partition: PartitionId, bounds: Bounds) -> None:
        wanted = FindRequest(partition, bounds.log_start_offset, EVERYTHING)
        (found,) = await self._real_coordinator.find_batches([wanted], bytes_max=EVERYTHING)
        for where in found.coordinates:
            content = await self._real_store.get(where.key)
            if len(content) != where.object_byte_length or where.byte_end > len(content):
                raise Broken(f"{where} points past its object of {len(content)} bytes")

    def _note(self, *event: object) -> None:
        self.trace.append((self.clock.monotonic(), *event))

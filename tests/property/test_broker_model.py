"""Whatever clients do and whatever fails, what brokers have promised over a real control plane holds.

The steps are Hypothesis's, the faults a seed's. What is checked is in `simulation.history`; the same world in
virtual time, with everybody acting at once, is in tests/simulation.
"""

import asyncio
import tempfile
from collections.abc import Coroutine
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from inkless.clock import SystemClock
from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.open import open_control_plane
from inkless.coordinator.types import NewTopic
from inkless.storage.memory import MemoryStore
from inkless.testing.faults import CallFaults, SeededEntropy
from simulation.world import BROKERS, PARTITIONS, TOPIC_ID, Faults, IdempotentProducer, World

T = TypeVar("T")

partitions = st.sampled_from(PARTITIONS)
connections = st.integers(0, 2)
brokers = st.integers(0, BROKERS - 1)
record_counts = st.integers(1, 4)
byte_lengths = st.sampled_from([0, 10, 400, 1000, 3000])
depths = st.floats(0, 1.05)
plain_batches = st.tuples(connections, partitions, record_counts, byte_lengths)
positions = st.tuples(partitions, depths)
budgets = st.one_of(st.integers(0, 4000), st.just(1 << 30))
call_faults = st.builds(
    CallFaults,
    refused=st.sampled_from([0.0, 0.3]),
    lost=st.sampled_from([0.0, 0.3]),
    hangs=st.sampled_from([0.0, 0.1]),
    delay_s_max=st.sampled_from([0.0, 0.004]),
)


class BrokerMachine(RuleBasedStateMachine):
    @initialize(seed=st.integers(0, 1 << 30))
    def open(self, seed: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.control_plane: ControlPlane = self.run(self._open(seed))
        self.producers = [IdempotentProducer(n + 1, partition) for n, partition in enumerate(PARTITIONS)]

    async def _open(self, seed: int) -> ControlPlane:
        control_plane = await open_control_plane(
            f"sqlite://{self.folder.name}/control-plane.db", clock=SystemClock(), entropy=SeededEntropy(seed)
        )
        await control_plane.create_topic(NewTopic(TOPIC_ID, "topic", [[0]] * len(PARTITIONS)))
        self.world = World(
            store=MemoryStore(SystemClock()), coordinator=control_plane, clock=SystemClock(), seed=seed
        )
        return control_plane

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.run(self._end())
            self.runner.close()
            self.folder.cleanup()

    async def _end(self) -> None:
        try:
            self.world.suffer(Faults())
            while any(producer.unacknowledged for producer in self.producers):
                await self._push_all(broker=0)
            await self.world.check()
        finally:
            await self.world.end()
            await self.control_plane.close()

    async def _push_all(self, *, broker: int) -> None:
        await asyncio.gather(*(self.world.push(producer, broker=broker) for producer in self.producers))

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(call)

    @rule(
        batches=st.lists(
            st.tuples(connections, partitions, record_counts, byte_lengths), min_size=1, max_size=8
        )
    )
    def produce(self, batches: list[tuple[int, Any, int, int]]) -> None:
        async def send() -> None:
            for connection, partition, record_count, byte_length in batches:
                made = self.world.make_batch(record_count=record_count, byte_length=byte_length)
                self.world.send(partition, *made, connection=connection, broker=connection % BROKERS)

        self.run(send())

    @rule(counts=st.lists(st.tuples(st.integers(0, 2), record_counts), max_size=6), broker=brokers)
    def produce_idempotently(self, counts: list[tuple[int, int]], broker: int) -> None:
        async def push() -> None:
            for number, record_count in counts:
                self.world.enqueue(self.producers[number], record_count=record_count)
            await self._push_all(broker=broker)

        self.run(push())

    @rule()
    def wait_for_answers(self) -> None:
        self.run(self.world.settle())

    @rule(
        wanted=st.lists(
            st.tuples(partitions, depths), min_size=1, max_size=3, unique_by=lambda pair: pair[0]
        ),
        bytes_max=budgets,
        partition_bytes_max=budgets,
        bytes_min=st.integers(0, 3000),
        wait_ms=st.sampled_from([0, 0, 5]),
        broker=brokers,
    )
    def fetch(
        self,
        wanted: list[tuple[Any, float]],
        bytes_max: int,
        partition_bytes_max: int,
        bytes_min: int,
        wait_ms: int,
        broker: int,
    ) -> None:
        async def fetch() -> None:
            positions = []
            for partition, depth in wanted:
                bounds = await self.world.bounds("machine", partition)
                positions.append((partition, int(depth * bounds.high_watermark)))
            await self.world.fetch(
                "machine",
                positions,
                broker=broker,
                bytes_max=bytes_max,
                bytes_min=bytes_min,
                wait_ms=wait_ms,
                partition_bytes_max=partition_bytes_max,
            )

        self.run(fetch())

    @rule(partition=partitions, depth=depths)
    def delete_records(self, partition: Any, depth: float) -> None:
        async def delete() -> None:
            bounds = await self.world.bounds("machine", partition)
            readable = bounds.high_watermark - bounds.log_start_offset
            await self.world.delete_records(partition, bounds.log_start_offset + int(readable * depth / 2))

        self.run(delete())

    @rule(broker=brokers)
    def restart(self, broker: int) -> None:
        self.run(self.world.restart(broker))

    @rule(
        faults=st.one_of(
            st.just(Faults()),
            st.builds(
                Faults,
                puts=call_faults,
                commits=call_faults,
                reads=call_faults,
                finds=st.builds(CallFaults, refused=st.sampled_from([0.0, 0.2])),
                damage=st.sampled_from([0.0, 0.2]),
            ),
        )
    )
    def suffer(self, faults: Faults) -> None:
        self.world.suffer(faults)

    @invariant()
    def nothing_goes_back(self) -> None:
        async def look() -> None:
            for partition in PARTITIONS:
                await self.world.bounds("invariant", partition)

        if hasattr(self, "world"):
            self.run(look())


TestBroker = BrokerMachine.TestCase
TestBroker.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

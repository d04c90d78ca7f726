"""Clients, faults and deaths for a while of virtual time; the same seed makes the same run.

A seed that fails is in the test's name. To see it again, or to try others:
`INKLESS_SIMULATION_SEEDS=17,18 make test ARGS=tests/simulation`
"""

import asyncio
import os

import pytest

from inkless.storage.memory import MemoryStore
from inkless.testing.faults import CallFaults, SeededEntropy
from simulation.model_coordinator import ModelCoordinator
from simulation.virtual_time import VirtualClock, VirtualLoop
from simulation.world import BROKERS, PARTITIONS, Faults, IdempotentProducer, World

SEEDS = os.environ.get("INKLESS_SIMULATION_SEEDS", ",".join(map(str, range(8))))
DURATION_S = 4.0
WEATHER = (
    Faults(),
    Faults(
        puts=CallFaults(delay_s_max=0.03),
        commits=CallFaults(delay_s_max=0.01),
        reads=CallFaults(delay_s_max=0.03),
    ),
    Faults(puts=CallFaults(refused=0.3, lost=0.2, hangs=0.1, delay_s_max=0.02)),
    Faults(commits=CallFaults(refused=0.2, lost=0.4, hangs=0.1, delay_s_max=0.02)),
    Faults(
        reads=CallFaults(refused=0.3, hangs=0.1, delay_s_max=0.02), finds=CallFaults(refused=0.2), damage=0.1
    ),
    Faults(
        puts=CallFaults(refused=0.1, lost=0.1, hangs=0.05, delay_s_max=0.05),
        commits=CallFaults(refused=0.1, lost=0.2, hangs=0.05, delay_s_max=0.05),
        reads=CallFaults(refused=0.1, hangs=0.05, delay_s_max=0.05),
        finds=CallFaults(refused=0.1, delay_s_max=0.01),
        damage=0.1,
    ),
)


class Simulation:
    """Actors with an entropy of their own each, so that one more draw of one does not change the others."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._clock = VirtualClock()
        self.world = World(
            store=MemoryStore(self._clock),
            coordinator=ModelCoordinator(PARTITIONS, clock=self._clock),
            clock=self._clock,
            seed=seed,
        )
        self._ends_at = self._clock.monotonic() + DURATION_S

    async def run(self) -> None:
        actors = [
            *(self._produce(connection) for connection in range(3)),
            *(self._produce_idempotently(producer_id) for producer_id in (1, 2, 3)),
            *(self._follow(partition) for partition in range(len(PARTITIONS))),
            self._look_around(),
            self._make_weather(),
            self._delete(),
        ]
        async with asyncio.TaskGroup() as tasks:
            for actor in actors:
                tasks.create_task(actor)
        await self.world.check()
        await self.world.end()

    def _goes_on(self) -> bool:
        return self._clock.monotonic() < self._ends_at

    async def _pause(self, entropy: SeededEntropy, seconds_max: float) -> None:
        await self._clock.sleep(entropy.uniform() * seconds_max)

    async def _produce(self, connection: int) -> None:
        entropy = SeededEntropy(f"{self._seed} producer {connection}")
        while self._goes_on():
            for _ in range(entropy.below(4)):
                content, facts = self.world.make_batch(
                    record_count=1 + entropy.below(3), byte_length=entropy.below(600)
                )
                partition = PARTITIONS[entropy.below(3)]
                broker = connection % BROKERS
                self.world.send(partition, content, facts, connection=connection, broker=broker)
            await self._pause(entropy, 0.02)

    async def _produce_idempotently(self, producer_id: int) -> None:
        entropy = SeededEntropy(f"{self._seed} idempotent producer {producer_id}")
        producer = IdempotentProducer(producer_id, PARTITIONS[producer_id % len(PARTITIONS)])
        while self._goes_on() or producer.unacknowledged:
            if self._goes_on():
                for _ in range(entropy.below(3)):
                    self.world.enqueue(producer, record_count=1 + entropy.below(2))
            else:
                self.world.suffer(Faults())
            await self.world.push(producer, broker=entropy.below(BROKERS))
            await self._pause(entropy, 0.02)

    async def _follow(self, number: int) -> None:
        offset = 0
        while self._goes_on():
            positions = [(PARTITIONS[number], offset)]
            (offset,) = await self.world.fetch(
                f"follower {number}", positions, broker=number % BROKERS, wait_ms=50, bytes_max=4000
            )
            await self._clock.sleep(0.001)

    async def _look_around(self) -> None:
        entropy = SeededEntropy(f"{self._seed} looks around")
        while self._goes_on():
            positions = []
            for partition in PARTITIONS:
                bounds = await self.world.bounds("looks around", partition)
                positions.append((partition, entropy.below(bounds.high_watermark + 2)))
            await self.world.fetch(
                "looks around",
                positions,
                broker=entropy.below(BROKERS),
                bytes_max=entropy.below(5000),
                bytes_min=entropy.below(5000),
                wait_ms=entropy.below(30),
                partition_bytes_max=entropy.below(3000),
            )
            await self._pause(entropy, 0.03)

    async def _make_weather(self) -> None:
        entropy = SeededEntropy(f"{self._seed} weather")
        while self._goes_on():
            self.world.suffer(WEATHER[entropy.below(len(WEATHER))])
            await self._pause(entropy, 0.3)
            if entropy.uniform() < 0.2:
                await self.world.restart(entropy.below(BROKERS))

    async def _delete(self) -> None:
        entropy = SeededEntropy(f"{self._seed} deletes")
        while self._goes_on():
            await self._pause(entropy, 1.0)
            partition = PARTITIONS[entropy.below(3)]
            bounds = await self.world.bounds("deletes", partition)
            kept = bounds.high_watermark - bounds.log_start_offset
            await self.world.delete_records(partition, bounds.log_start_offset + entropy.below(kept + 1) // 2)


def simulate(seed: str) -> list[tuple[object, ...]]:
    async def run() -> list[tuple[object, ...]]:
        simulation = Simulation(seed)
        await simulation.run()
        return simulation.world.trace

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(run())


@pytest.mark.parametrize("seed", SEEDS.split(","))
def test_what_was_promised_holds_through_faults_and_deaths(seed: str) -> None:
    trace = simulate(seed)
    events = {str(event[1]) for event in trace}
    assert {"answered", "fetched", "deleted"} <= events
    assert sum(event[1] == "answered" and event[4] == "NONE" for event in trace) > 100


def test_the_same_seed_makes_the_same_run() -> None:
    assert simulate("again") == simulate("again")
    assert simulate("again") != simulate("another")

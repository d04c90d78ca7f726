from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from inkless.clock import SystemEntropy
from inkless.cluster.directory import TopicDirectory
from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.open import open_control_plane
from inkless.coordinator.types import BatchFacts, PartitionId
from inkless.housekeeping.housekeeper import Housekeeper
from inkless.settings import HousekeepingSettings, TopicDefaults
from inkless.storage.memory import MemoryStore
from support.cluster_parts import BreakableControlPlane
from support.coordinator_commits import new_topic, object_of
from support.turned_clock import TurnedClock

INTERVAL_MS = 1_000
TURNS_MAX = 200


@dataclass(slots=True)
class Cluster:
    clock: TurnedClock
    plane: ControlPlane
    link: BreakableControlPlane

    def housekeeper(self, broker_id: int) -> Housekeeper:
        plane = cast(ControlPlane, self.link)
        return Housekeeper(
            HousekeepingSettings(
                retention_interval_ms=INTERVAL_MS,
                cleaner_interval_ms=INTERVAL_MS,
                cleaner_grace_ms=0,
                orphan_interval_ms=256 * INTERVAL_MS,
                producer_interval_ms=INTERVAL_MS,
                producer_expiration_ms=10 * INTERVAL_MS,
            ),
            broker_id=broker_id,
            control_plane=plane,
            store=MemoryStore(self.clock),
            directory=TopicDirectory(plane, TopicDefaults()),
            clock=self.clock,
            entropy=SystemEntropy(),
        )

    async def turn(self, times: int = 1) -> None:
        """Lets half an interval pass, and the database answer whatever was asked in it."""
        for _ in range(times):
            await self.clock.turn(INTERVAL_MS / 2)
            for _ in range(6):
                await self.plane.cluster_id()
                await self.plane.release_duty("nobody's", b"")

    async def turn_until(self, holds: Callable[[], bool]) -> None:
        for _ in range(TURNS_MAX):
            if holds():
                return
            await self.turn()
        raise AssertionError("it never came to that")


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    clock = TurnedClock()
    plane = await open_control_plane(f"sqlite://{tmp_path}/a.db", clock=clock, entropy=SystemEntropy())
    yield Cluster(clock, plane, BreakableControlPlane(plane))
    await plane.close()


async def test_one_broker_does_the_work_and_another_takes_over_when_it_stops(cluster: Cluster) -> None:
    first, second = cluster.housekeeper(1), cluster.housekeeper(2)
    first.start()
    await cluster.turn_until(lambda: first.counters.retention_rounds > 1)
    second.start()
    await cluster.turn(20)
    assert second.counters.retention_rounds == 0
    await first.close()
    done = first.counters.retention_rounds
    await cluster.turn_until(lambda: second.counters.retention_rounds > 1)
    await cluster.turn(2)
    assert first.counters.retention_rounds == done
    await second.close()


async def test_work_goes_on_when_the_control_plane_is_back(cluster: Cluster) -> None:
    housekeeper = cluster.housekeeper(1)
    housekeeper.start()
    await cluster.turn_until(lambda: housekeeper.counters.retention_rounds > 0)
    cluster.link.is_down = True
    await cluster.turn_until(lambda: housekeeper.counters.failed_steps > 8)
    done = housekeeper.counters.retention_rounds
    cluster.link.is_down = False
    await cluster.turn_until(lambda: housekeeper.counters.retention_rounds > done)
    await housekeeper.close()


async def test_closing_is_not_held_up_by_a_control_plane_that_is_away(cluster: Cluster) -> None:
    housekeeper = cluster.housekeeper(1)
    housekeeper.start()
    await cluster.turn_until(lambda: housekeeper.counters.retention_rounds > 0)
    cluster.link.is_down = True
    await housekeeper.close()
    assert cluster.link.calls[-1] == "release_duty"


async def test_producers_that_send_nothing_expire(cluster: Cluster) -> None:
    topic = await cluster.plane.create_topic(new_topic("events"))
    partition = PartitionId(topic.shard, topic.topic_id, 0)
    batches = [BatchFacts(10, 1, cluster.clock.now_ms(), producer_id, 0, 0) for producer_id in range(3)]
    await cluster.plane.commit_objects([object_of({partition: batches})])
    housekeeper = cluster.housekeeper(1)
    housekeeper.start()
    await cluster.turn(18)
    assert housekeeper.counters.producers_expired == 0
    await cluster.turn_until(lambda: housekeeper.counters.producers_expired == 3)
    await housekeeper.close()

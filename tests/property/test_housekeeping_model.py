"""Any order of writing, deleting, keeping house and failing: what can be read is in storage, always."""

import asyncio
import tempfile
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from inkless.clock import SystemEntropy
from inkless.coordinator.types import DeleteRecordsRequest, ObjectCommit, ObjectId, PartitionId
from inkless.errors import Unavailable
from inkless.housekeeping.chore import Chore
from inkless.settings import HousekeepingSettings
from support.housekeeping_parts import PREFIXES, House, a_commit, a_house

T = TypeVar("T")

PARTITIONS = 3
GRACE_MS = 1_000
AGE_MS = 60_000
RETENTION_MS = 20_000
DAY_MS = 86_400_000
SETTINGS = HousekeepingSettings(
    retention_partitions_max=2, cleaner_grace_ms=GRACE_MS, cleaner_objects_max=2, orphan_age_ms=AGE_MS
)

partition_sets = st.sets(st.integers(0, PARTITIONS - 1), min_size=1)
pasts = st.integers(0, 1_000)


class HousekeepingMachine(RuleBasedStateMachine):
    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.opened = a_house(Path(self.folder.name), SETTINGS)
        self.house: House = self.run(self.opened.__aenter__())
        self.partitions: list[PartitionId] = self.run(
            self.house.topic("events", PARTITIONS, retention_ms=str(RETENTION_MS), retention_bytes="50")
        )
        self.uploaded: list[ObjectCommit] = []
        self.committed_ms: dict[ObjectId, int] = {}
        self.log_starts = [0] * PARTITIONS
        self.restart_brokers()

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.run(self.opened.__aexit__(None, None, None))
            self.runner.close()
            self.folder.cleanup()

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(call)

    @rule()
    def restart_brokers(self) -> None:
        """Whatever housekeeping remembers is gone."""
        self.retention, self.garbage = self.house.retention(), self.house.garbage()
        self.orphans = self.house.orphans()

    @rule(indexes=partition_sets)
    def upload(self, indexes: set[int]) -> None:
        # All under one prefix, which the orphan chore is then led to.
        object_id = ObjectId(b"\x00" + SystemEntropy().new_id()[1:])
        partitions = [self.partitions[index] for index in sorted(indexes)]
        commit = a_commit(self.house.clock.ms, partitions, object_id)
        self.run(self.house.upload(object_id, commit.byte_length))
        self.uploaded.append(commit)

    @rule(past=pasts)
    def commit(self, past: int) -> None:
        """The newest, or an old one once more, or one that comes late."""
        if self.uploaded:
            commit = self.uploaded[-1 - past % len(self.uploaded)]
            first_ms = self.committed_ms.setdefault(commit.object_id, self.house.clock.ms)
            # Later than that nobody repeats a commit, nor need it be known as a repetition.
            if self.house.clock.ms - first_ms < DAY_MS:
                self.run(self.house.plane.commit_objects([commit]))

    @rule(indexes=partition_sets)
    def write(self, indexes: set[int]) -> None:
        self.upload(indexes)
        self.commit(0)

    @rule(index=st.integers(0, PARTITIONS - 1))
    def delete_records(self, index: int) -> None:
        start = self.run(self.house.log_start(self.partitions[index]))
        self.run(self.house.plane.delete_records([DeleteRecordsRequest(self.partitions[index], start + 1)]))

    @rule(passed_ms=st.sampled_from([1, GRACE_MS + 1, RETENTION_MS + 1, AGE_MS + 1, 2 * DAY_MS]))
    def wait(self, passed_ms: int) -> None:
        self.house.clock.ms += passed_ms

    @rule()
    def keep_to_limits(self) -> None:
        self._step(self.retention)

    @rule(deletes_before_failure=st.one_of(st.none(), st.integers(0, 2)))
    def delete_garbage(self, deletes_before_failure: int | None) -> None:
        self.house.store.deletes_before_failure = deletes_before_failure
        self._step(self.garbage)

    @rule()
    def die_between_deleting_and_forgetting(self) -> None:
        house = self.house
        found = self.run(
            house.plane.unreferenced_objects(since_before_ms=house.clock.ms - GRACE_MS, count_max=2)
        )
        house.store.deletes_before_failure = None
        self.run(house.store.delete([each.key for each in found if each.key]))
        self.restart_brokers()

    @rule(pages_before_failure=st.one_of(st.none(), st.integers(0, 1)))
    def look_for_orphans(self, pages_before_failure: int | None) -> None:
        self.house.store.pages_before_failure = pages_before_failure
        self.orphans._next = 0
        self._step(self.orphans)

    def _step(self, chore: Chore) -> None:
        with suppress(Unavailable):
            self.run(chore.step())

    @invariant()
    def what_can_be_read_is_in_storage(self) -> None:
        if hasattr(self, "house"):
            assert self.run(self.house.referenced(self.partitions)) <= self.house.store.keys

    @invariant()
    def log_starts_never_go_back(self) -> None:
        if hasattr(self, "house"):
            now = [self.run(self.house.log_start(partition)) for partition in self.partitions]
            assert all(after >= before for before, after in zip(self.log_starts, now, strict=True))
            self.log_starts = now


class EverythingGoesMachine(HousekeepingMachine):
    """And in the end, when nothing fails any more, storage holds what can be read and nothing else."""

    def teardown(self) -> None:
        if hasattr(self, "house"):
            self.house.store.deletes_before_failure = self.house.store.pages_before_failure = None
            self.house.clock.ms += 3 * DAY_MS
            for _ in range(3):
                for _ in range(PREFIXES):
                    self._step(self.orphans)
                for _ in range(20 + len(self.uploaded)):
                    self._step(self.retention)
                self.house.clock.ms += GRACE_MS + 1
                for _ in range(20 + len(self.uploaded)):
                    self._step(self.garbage)
                self.house.clock.ms += 2 * DAY_MS
            assert self.house.store.keys == self.run(self.house.referenced(self.partitions))
        super().teardown()


ANY_SPEED = settings(deadline=None, suppress_health_check=list(HealthCheck))

TestHousekeeping = HousekeepingMachine.TestCase
TestHousekeeping.settings = settings(ANY_SPEED, max_examples=40, stateful_step_count=40)
TestEverythingGoes = EverythingGoesMachine.TestCase
TestEverythingGoes.settings = settings(ANY_SPEED, max_examples=15, stateful_step_count=30)

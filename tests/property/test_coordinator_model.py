"""The coordinator against a plain model of itself, under any sequence of calls.

Two control planes share one database, as two processes would: what one has in memory must never outlive what
the other one writes.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from inkless.clock import SystemEntropy
from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.open import open_control_plane
from inkless.coordinator.types import (
    BatchFacts,
    Coordinates,
    DeleteRecordsRequest,
    FindRequest,
    ObjectCommit,
    PartitionId,
    RunResult,
    TimestampHit,
    Topic,
)
from inkless.protocol.error_codes import ErrorCode
from support.coordinator_commits import HandClock, new_topic, object_of
from support.coordinator_model import CoordinatorModel, ModelLog, Span, join_runs
from support.postgres import PostgresServer

T = TypeVar("T")

PARTITIONS = 3
planes = st.integers(0, 1)
partition_numbers = st.integers(0, PARTITIONS - 1)
budgets = st.one_of(st.integers(0, 300), st.just(1 << 30))
# Few and far apart, so that a small batch often fits where the large one before it did not.
byte_lengths = st.sampled_from([10, 70, 100])
plain_batches = st.tuples(byte_lengths, st.integers(1, 4), st.integers(-1, 12)).map(
    lambda columns: BatchFacts(*columns)
)
sequenced_batches = st.tuples(
    byte_lengths,
    st.integers(1, 2),
    st.integers(-1, 12),
    st.integers(1, 2),
    st.integers(0, 1),
    st.one_of(st.integers(0, 3), st.integers(2**31 - 2, 2**31 - 1)),
).map(lambda columns: BatchFacts(*columns))
# -1 stands for the sequence that the producer would send next, so that long valid histories happen too.
following_batches = sequenced_batches.map(lambda batch: batch._replace(base_sequence=-1))
batch_lists = st.lists(st.one_of(plain_batches, sequenced_batches, following_batches), min_size=1, max_size=6)
run_maps = st.dictionaries(partition_numbers, batch_lists, min_size=1, max_size=PARTITIONS)


@contextlib.contextmanager
def sqlite_database() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite://{folder}/control-plane.db"


class CoordinatorMachine(RuleBasedStateMachine):
    def new_database(self) -> contextlib.AbstractContextManager[str]:
        """The URL of an empty database, which goes with the context."""
        return sqlite_database()

    @initialize()
    def open(self) -> None:
        self.resources = contextlib.ExitStack()
        self.url = self.resources.enter_context(self.new_database())
        self.runner = asyncio.Runner()
        self.model = CoordinatorModel()
        self.past: list[ObjectCommit] = []
        self.topics_made = 0
        self.planes = [self._open_plane() for _ in range(2)]
        self._make_topic(self.planes[0])

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            for plane in self.planes:
                self.run(plane.close())
            self.runner.close()
            self.resources.close()

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(call)

    def _open_plane(self) -> ControlPlane:
        return self.run(open_control_plane(self.url, clock=HandClock(), entropy=SystemEntropy()))

    def _make_topic(self, plane: ControlPlane) -> None:
        self.topics_made += 1
        self.topic: Topic = self.run(plane.create_topic(new_topic(f"topic-{self.topics_made}", PARTITIONS)))
        for number in range(PARTITIONS):
            self.model.logs[self.partition(number)] = ModelLog()

    def partition(self, number: int) -> PartitionId:
        return PartitionId(self.topic.shard, self.topic.topic_id, number)

    def _concrete(self, number: int, batches: list[BatchFacts]) -> list[BatchFacts]:
        """Gives the batches marked as following the sequence that their producer would use."""
        log = self.model.logs[self.partition(number)]
        following = {
            (producer_id, producer.epoch): (producer.sent[-1][1] + 1) % 2**31
            for producer_id, producer in log.producers.items()
        }
        concrete = []
        for batch in batches:
            key = (batch.producer_id, batch.producer_epoch)
            if batch.producer_id != -1 and batch.base_sequence == -1:
                sequence = following.get(key, 0)
                batch = batch._replace(base_sequence=sequence)  # noqa: PLW2901 the marked one is of no more use
                following[key] = (sequence + batch.record_count) % 2**31
            concrete.append(batch)
        return concrete

    @rule(plane=planes, maps=st.lists(run_maps, min_size=1, max_size=3))
    def commit(self, plane: int, maps: list[dict[int, list[BatchFacts]]]) -> None:
        objects = [
            object_of(
                {self.partition(number): self._concrete(number, runs[number]) for number in sorted(runs)}
            )
            for runs in maps
        ]
        self.past += objects
        self._check_commit(plane, objects)

    @rule(plane=planes, data=st.data())
    def repeat_commit(self, plane: int, data: st.DataObject) -> None:
        if self.past:
            self._check_commit(plane, data.draw(st.lists(st.sampled_from(self.past), max_size=3)))

    def _check_commit(self, plane: int, objects: list[ObjectCommit]) -> None:
        expected = [self.model.commit(each) for each in objects]
        answers = self.run(self.planes[plane].commit_objects(objects))
        assert [list(map(comparable, each)) for each in answers] == [
            list(map(comparable, each)) for each in expected
        ]

    @rule(
        plane=planes,
        wanted=st.lists(st.tuples(partition_numbers, st.floats(0, 1.05), budgets), max_size=4),
        total=budgets,
    )
    def find(self, plane: int, wanted: list[tuple[int, float, int]], total: int) -> None:
        requests = [
            FindRequest(
                self.partition(number),
                int(self.model.logs[self.partition(number)].high_watermark * depth),
                bytes_max,
            )
            for number, depth, bytes_max in wanted
        ]
        self._check_find(plane, requests, total)

    def _check_find(self, plane: int, requests: list[FindRequest], total: int) -> None:
        results = self.run(self.planes[plane].find_batches(requests, bytes_max=total))
        assert [
            (each.error, each.log_start_offset, each.high_watermark, list(map(span, each.coordinates)))
            for each in results
        ] == self.model.find(requests, total)

    @rule(plane=planes, number=partition_numbers, share=st.integers(0, 400), total=budgets)
    def find_from_every_offset(self, plane: int, number: int, share: int, total: int) -> None:
        log = self.model.logs[self.partition(number)]
        for offset in range(log.log_start, log.high_watermark + 1):
            self._check_find(plane, [FindRequest(self.partition(number), offset, share)], total)

    @rule(plane=planes, number=partition_numbers, depth=st.one_of(st.none(), st.floats(0, 1.2)))
    def delete_records(self, plane: int, number: int, depth: float | None) -> None:
        partition = self.partition(number)
        offset = -1 if depth is None else int(self.model.logs[partition].high_watermark * depth)
        request = DeleteRecordsRequest(partition, offset)
        (result,) = self.run(self.planes[plane].delete_records([request]))
        assert (result.error, result.log_start_offset) == self.model.delete_records(request)

    @rule(plane=planes, number=partition_numbers, timestamp_ms=st.integers(-2, 14))
    def find_by_timestamp(self, plane: int, number: int, timestamp_ms: int) -> None:
        (hit,) = self.run(self.planes[plane].find_by_timestamp([(self.partition(number), timestamp_ms)]))
        runs = self.model.living_runs(self.partition(number))
        matching = [run for run in runs if max(batch.timestamp_ms for batch in run) >= timestamp_ms]
        assert hit_spans(hit) == (join_runs(matching[0]) if matching else [])

    @rule(plane=planes, number=partition_numbers)
    def find_max_timestamp(self, plane: int, number: int) -> None:
        (hit,) = self.run(self.planes[plane].find_max_timestamp([self.partition(number)]))
        runs = self.model.living_runs(self.partition(number))
        # max keeps the first of several.
        greatest = max(runs, key=lambda run: max(batch.timestamp_ms for batch in run), default=[])
        assert hit_spans(hit) == join_runs(greatest)

    @precondition(lambda self: len(self.past) > 10 * self.topics_made)
    @rule(plane=planes)
    def replace_topic(self, plane: int) -> None:
        gone = self.topic
        self.run(self.planes[plane].delete_topic(gone.topic_id))
        self.model.logs.clear()
        self._make_topic(self.planes[1 - plane])

    @precondition(lambda self: len(self.past) % 3 == 2)
    @rule(plane=planes)
    def reopen(self, plane: int) -> None:
        self.run(self.planes[plane].close())
        self.planes[plane] = self._open_plane()

    @invariant()
    def bounds_agree(self) -> None:
        if not hasattr(self, "planes"):
            return
        for plane in self.planes:
            bounds = self.run(plane.offset_bounds([*map(self.partition, range(PARTITIONS))]))
            for each in bounds:
                log = self.model.logs[each.partition]
                assert each.error is ErrorCode.NONE
                assert (each.log_start_offset, each.high_watermark) == (log.log_start, log.high_watermark)

    @invariant()
    def unreferenced_objects_agree(self) -> None:
        if hasattr(self, "planes"):
            found = self.run(self.planes[0].unreferenced_objects(since_before_ms=1 << 60, count_max=10_000))
            assert {each.object_id for each in found} == self.model.unreferenced()


def comparable(result: RunResult) -> RunResult:
    return result._replace(base_offsets=list(result.base_offsets))


def span(coordinates: Coordinates) -> Span:
    return (
        coordinates.object_id,
        coordinates.base_offset,
        coordinates.end_offset,
        coordinates.byte_start,
        coordinates.byte_end,
    )


def hit_spans(hit: TimestampHit) -> list[Span]:
    return [] if hit.coordinates is None else [span(hit.coordinates)]


@pytest.mark.postgres
def test_coordinator_in_postgresql_agrees_with_the_model(postgres_server: PostgresServer) -> None:
    class PostgresMachine(CoordinatorMachine):
        def new_database(self) -> contextlib.AbstractContextManager[str]:
            return postgres_server.fresh_database()

    # Fewer, since every step is several round trips and every example a database.
    run_state_machine_as_test(PostgresMachine, settings=settings(EVERY_RUN, max_examples=10))


EVERY_RUN = settings(
    max_examples=50, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestCoordinator = CoordinatorMachine.TestCase
TestCoordinator.settings = EVERY_RUN

"""The promises of the produce path: durable, then ordered, then acknowledged; in order and bounded."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from inkless.buffers import BufferPool
from inkless.clock import SystemClock, SystemEntropy
from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.open import open_control_plane
from inkless.coordinator.types import (
    BatchFacts,
    FindRequest,
    NewTopic,
    ObjectCommit,
    PartitionId,
    RunResult,
    TopicId,
)
from inkless.errors import Unavailable
from inkless.produce.append import Append
from inkless.produce.writer import Writer
from inkless.protocol.error_codes import ErrorCode
from inkless.settings import ProduceSettings
from inkless.storage.contract import Buffer
from inkless.storage.memory import MemoryStore

TOPIC_ID = TopicId(bytes(15) + b"\x01")


class AppendOutcome(NamedTuple):
    error: ErrorCode
    base_offset: int
    log_start_offset: int


class Ticket:
    """Remembers the outcome."""

    def __init__(self) -> None:
        self.outcome: asyncio.Future[AppendOutcome] = asyncio.get_running_loop().create_future()

    def settle(self, place: int, error: ErrorCode, base_offset: int = -1, log_start_offset: int = -1) -> None:
        self.outcome.set_result(AppendOutcome(error, base_offset, log_start_offset))


class Listener:
    def __init__(self) -> None:
        self.commits: list[ObjectCommit] = []

    def object_committed(
        self, commit: ObjectCommit, content: memoryview, results: Sequence[RunResult]
    ) -> None:
        self.commits.append(commit)


class FaultyStore(MemoryStore):
    """Puts can be held back, by the order of their arrival, or made to fail."""

    def __init__(self) -> None:
        super().__init__(SystemClock())
        self.gates: list[asyncio.Event] = []
        self.puts = 0
        self.failing = False

    async def put(self, key: str, parts: Sequence[Buffer]) -> None:
        place = self.puts
        self.puts += 1
        if place < len(self.gates):
            await self.gates[place].wait()
        if self.failing:
            raise Unavailable("made to fail")
        await super().put(key, parts)


class LosingControlPlane:
    """Carries out commits and loses the first answers."""

    def __init__(self, control_plane: ControlPlane, *, lost: int) -> None:
        self._control_plane = control_plane
        self._lost = lost

    async def commit_objects(self, objects: Sequence[ObjectCommit]) -> list[list[RunResult]]:
        answer = await self._control_plane.commit_objects(objects)
        if self._lost:
            self._lost -= 1
            raise Unavailable("the answer was lost")
        return answer

    def __getattr__(self, name: str) -> object:
        return getattr(self._control_plane, name)


@pytest.fixture
async def control_plane(tmp_path: Path) -> AsyncIterator[ControlPlane]:
    opened = await open_control_plane(
        f"sqlite://{tmp_path}/control-plane.db", clock=SystemClock(), entropy=SystemEntropy()
    )
    await opened.create_topic(NewTopic(TOPIC_ID, "topic", [[0], [0], [0]]))
    yield opened
    await opened.close()


def make_writer(
    control_plane: ControlPlane,
    store: MemoryStore,
    listener: Listener,
    settings: ProduceSettings | None = None,
) -> Writer:
    return Writer(
        settings or ProduceSettings(settle_ms=1, linger_ms=2),
        broker_id=0,
        store=store,
        coordinator=control_plane,
        listener=listener,
        pool=BufferPool(idle_bytes_max=1 << 20),
        clock=SystemClock(),
        entropy=SystemEntropy(),
    )


def append(writer: Writer, content: bytes, *, partition: int = 0, records: int = 1) -> Ticket:
    ticket = Ticket()
    facts = BatchFacts(len(content), records, 1)
    writer.append(Append(PartitionId(0, TOPIC_ID, partition), content, [facts], ticket, 0))
    return ticket


async def stored(control_plane: ControlPlane, store: MemoryStore, partition: int = 0) -> list[bytes]:
    wanted = FindRequest(PartitionId(0, TOPIC_ID, partition), 0, 1 << 20)
    (found,) = await control_plane.find_batches([wanted], bytes_max=1 << 20)
    return [
        bytes(await store.get(where.key, start=where.byte_start, end=where.byte_end))
        for where in found.coordinates
    ]


async def test_an_append_is_settled_with_its_offset_and_is_readable(control_plane: ControlPlane) -> None:
    store = FaultyStore()
    writer = make_writer(control_plane, store, Listener())
    first, second = append(writer, b"aa", records=3), append(writer, b"bbb")
    assert (await first.outcome, await second.outcome) == (
        AppendOutcome(ErrorCode.NONE, 0, 0),
        AppendOutcome(ErrorCode.NONE, 3, 0),
    )
    assert b"".join(await stored(control_plane, store)) == b"aabbb"
    await writer.stop()


async def test_appends_that_meet_share_an_object_sorted_by_partition(control_plane: ControlPlane) -> None:
    listener = Listener()
    writer = make_writer(control_plane, FaultyStore(), listener)
    tickets = [append(writer, bytes([i]) * 3, partition=i % 3) for i in (2, 0, 1, 5, 3)]
    for ticket in tickets:
        await ticket.outcome
    (commit,) = listener.commits
    assert [run.partition.index for run in commit.runs] == [0, 1, 2]
    assert [len(run.batches) for run in commit.runs] == [2, 1, 2]
    await writer.stop()


async def test_no_ack_before_the_put_has_returned(control_plane: ControlPlane) -> None:
    store = FaultyStore()
    store.gates = [asyncio.Event()]
    writer = make_writer(control_plane, store, Listener())
    ticket = append(writer, b"a")
    while not store.puts:
        await asyncio.sleep(0)
    (bounds,) = await control_plane.offset_bounds([PartitionId(0, TOPIC_ID, 0)])
    assert bounds.high_watermark == 0
    assert not ticket.outcome.done()
    store.gates[0].set()
    assert (await ticket.outcome).base_offset == 0
    await writer.stop()


async def test_commits_leave_in_rotation_order_although_uploads_end_in_another(
    control_plane: ControlPlane,
) -> None:
    store = FaultyStore()
    store.gates = [asyncio.Event(), asyncio.Event()]
    settings = ProduceSettings(buffer_bytes_max=4, settle_ms=1, linger_ms=2)
    writer = make_writer(control_plane, store, Listener(), settings)
    slow, fast = append(writer, b"slow"), append(writer, b"fast")
    while store.puts < 2:
        await asyncio.sleep(0)
    store.gates[1].set()
    for _ in range(20):
        await asyncio.sleep(0)
    assert not fast.outcome.done()
    store.gates[0].set()
    assert (await slow.outcome).base_offset == 0
    assert (await fast.outcome).base_offset == 1
    await writer.stop()


async def test_a_lost_commit_answer_is_asked_for_again_and_gives_the_first_offsets(
    control_plane: ControlPlane,
) -> None:
    losing = LosingControlPlane(control_plane, lost=2)
    writer = make_writer(losing, FaultyStore(), Listener())  # type: ignore[arg-type]  # delegates the rest
    assert (await append(writer, b"a").outcome) == AppendOutcome(ErrorCode.NONE, 0, 0)
    (bounds,) = await control_plane.offset_bounds([PartitionId(0, TOPIC_ID, 0)])
    assert bounds.high_watermark == 1
    await writer.stop()


async def test_a_failed_upload_fails_its_own_appends_with_a_retriable_error(
    control_plane: ControlPlane,
) -> None:
    store = FaultyStore()
    writer = make_writer(control_plane, store, Listener())
    store.failing = True
    assert (await append(writer, b"a").outcome).error is ErrorCode.KAFKA_STORAGE_ERROR
    store.failing = False
    assert (await append(writer, b"b").outcome) == AppendOutcome(ErrorCode.NONE, 0, 0)
    await writer.stop()


async def test_what_was_taken_behind_a_failed_upload_fails_too(control_plane: ControlPlane) -> None:
    store = FaultyStore()
    store.gates = [asyncio.Event()]
    settings = ProduceSettings(
        buffer_bytes_max=4, settle_ms=10_000, linger_ms=10_000, commit_interval_ms=60_000
    )
    writer = make_writer(control_plane, store, Listener(), settings)
    first, second, third = append(writer, b"1111"), append(writer, b"2222"), append(writer, b"3")
    while store.puts < 2:
        await asyncio.sleep(0)
    store.failing = True
    store.gates[0].set()
    for ticket in (first, second, third):
        assert (await ticket.outcome).error is ErrorCode.KAFKA_STORAGE_ERROR
    assert writer.unsettled_bytes == 0
    store.failing = False
    again = [append(writer, content) for content in (b"1111", b"2222", b"3")]
    await writer.flush()
    assert [(await ticket.outcome).base_offset for ticket in again] == [0, 1, 2]
    assert b"".join(await stored(control_plane, store)) == b"111122223"
    await writer.stop()


async def test_a_commit_without_an_answer_fails_its_appends_with_a_retriable_error(
    control_plane: ControlPlane,
) -> None:
    losing = LosingControlPlane(control_plane, lost=1_000_000)
    settings = ProduceSettings(settle_ms=1, linger_ms=2, commit_deadline_ms=50)
    writer = make_writer(losing, FaultyStore(), Listener(), settings)  # type: ignore[arg-type]  # delegates the rest
    assert (await append(writer, b"a").outcome).error is ErrorCode.REQUEST_TIMED_OUT
    await writer.stop()


async def test_only_the_refused_batch_is_told_of_its_error(control_plane: ControlPlane) -> None:
    writer = make_writer(control_plane, FaultyStore(), Listener())
    good = append(writer, b"a")
    ticket = Ticket()
    unknown = PartitionId(0, TOPIC_ID, 99)
    writer.append(Append(unknown, b"b", [BatchFacts(1, 1, 1)], ticket, 0))
    assert (await good.outcome).error is ErrorCode.NONE
    assert (await ticket.outcome).error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    await writer.stop()


async def test_a_full_buffer_does_not_wait_for_silence(control_plane: ControlPlane) -> None:
    listener = Listener()
    settings = ProduceSettings(
        buffer_bytes_max=100, settle_ms=10_000, linger_ms=10_000, commit_interval_ms=60_000
    )
    writer = make_writer(control_plane, FaultyStore(), listener, settings)
    await append(writer, bytes(100)).outcome
    large = append(writer, bytes(250))
    await large.outcome
    assert [commit.byte_length for commit in listener.commits] == [100, 250]
    await writer.stop()


async def test_the_writer_is_saturated_until_bytes_are_settled(control_plane: ControlPlane) -> None:
    store = FaultyStore()
    store.gates = [asyncio.Event()]
    settings = ProduceSettings(buffer_bytes_max=100, memory_bytes_max=200, settle_ms=1, linger_ms=2)
    writer = make_writer(control_plane, store, Listener(), settings)
    tickets = [append(writer, bytes(100)), append(writer, bytes(100))]
    drained = asyncio.Event()
    assert writer.saturated
    writer.when_drained(drained.set)
    assert not drained.is_set()
    store.gates[0].set()
    await drained.wait()
    assert not writer.saturated
    for ticket in tickets:
        await ticket.outcome
    await writer.stop()


async def test_stop_settles_everything_and_takes_nothing_more(control_plane: ControlPlane) -> None:
    settings = ProduceSettings(settle_ms=10_000, linger_ms=10_000, commit_interval_ms=60_000)
    writer = make_writer(control_plane, FaultyStore(), Listener(), settings)
    waiting = append(writer, b"a")
    await writer.stop()
    assert (await waiting.outcome).error is ErrorCode.NONE
    assert (await append(writer, b"b").outcome).error is ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_put_allowance_gathers_what_arrives_meanwhile(control_plane: ControlPlane) -> None:
    listener = Listener()
    settings = ProduceSettings(settle_ms=0.5, linger_ms=1, put_rate_max=1.0)
    writer = make_writer(control_plane, FaultyStore(), listener, settings)
    await append(writer, b"a").outcome
    tickets = [append(writer, b"b") for _ in range(5)]
    await writer.stop()
    for ticket in tickets:
        assert (await ticket.outcome).error is ErrorCode.NONE
    assert len(listener.commits) == 2

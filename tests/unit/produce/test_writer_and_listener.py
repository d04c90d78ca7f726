"""What is committed is acknowledged, whatever becomes of those who are told of it first."""

import asyncio
from collections.abc import Sequence

import pytest

from inkless.buffers import BufferPool
from inkless.clock import SystemClock, SystemEntropy
from inkless.coordinator.types import BatchFacts, ObjectCommit, PartitionId, RunResult, TopicId
from inkless.produce.append import Append
from inkless.produce.writer import Writer
from inkless.protocol.error_codes import ErrorCode
from inkless.settings import ProduceSettings
from inkless.storage.memory import MemoryStore
from simulation.model_coordinator import ModelCoordinator

PARTITION = PartitionId(0, TopicId(bytes(16)), 0)


class FailingListener:
    def object_committed(
        self, commit: ObjectCommit, content: memoryview, results: Sequence[RunResult]
    ) -> None:
        raise RuntimeError("a bug in the cache")


class Ticket:
    def __init__(self) -> None:
        self.outcome: asyncio.Future[tuple[ErrorCode, int]] = asyncio.get_running_loop().create_future()

    def settle(self, place: int, error: ErrorCode, base_offset: int = -1, log_start_offset: int = -1) -> None:
        self.outcome.set_result((error, base_offset))


async def test_a_failing_listener_costs_neither_the_answer_nor_the_writer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = SystemClock()
    writer = Writer(
        ProduceSettings(settle_ms=0, linger_ms=0),
        broker_id=0,
        store=MemoryStore(clock),
        coordinator=ModelCoordinator([PARTITION], clock=clock),
        listener=FailingListener(),
        pool=BufferPool(idle_bytes_max=0),
        clock=clock,
        entropy=SystemEntropy(),
    )
    for base_offset in (0, 1):
        ticket = Ticket()
        writer.append(Append(PARTITION, b"x", [BatchFacts(1, 1, 1)], ticket, 0))
        assert await ticket.outcome == (ErrorCode.NONE, base_offset)
    await writer.stop()
    assert writer.unsettled_bytes == 0
    assert "a bug in the cache" in caplog.text

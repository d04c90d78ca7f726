"""A fetch returns when it has enough, an error to tell or no more time; errors stay in their partition."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from inkless.coordinator.types import FindRequest, PartitionId, TopicId
from inkless.errors import Unavailable
from inkless.fetch.fetcher import PartitionBytes
from inkless.protocol.error_codes import ErrorCode
from inkless.records.header import iter_headers
from inkless.testing.faults import CallFaults
from support.data_path_broker import BYTES_MAX, DataPathBroker, batch_of, data_path_broker

LONG_MS = 600_000
KIB = 1024


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[DataPathBroker]:
    # Never woken by the polling, so that a test that should be woken otherwise can fail.
    async with data_path_broker(tmp_path, overrides={"inkless.consume.poll.interval.ms": "60000"}) as made:
        await made.create("orders", 3)
        yield made


def partition(broker: DataPathBroker, index: int) -> PartitionId:
    entry = broker.parts.directory.by_name("orders")
    assert entry is not None
    return entry.partitions[index]


async def produce(broker: DataPathBroker, index: int, *batches: bytes) -> None:
    entry = broker.parts.directory.by_name("orders")
    assert entry is not None
    outcome = await broker.produce_to(entry, index, *batches)
    assert outcome.error_code == ErrorCode.NONE


async def fetch(
    broker: DataPathBroker,
    *positions: tuple[int, int],
    bytes_min: int = 1,
    wait_ms: int = 0,
    bytes_max: int = BYTES_MAX,
    partition_bytes_max: int = BYTES_MAX,
) -> list[PartitionBytes]:
    wanted = [
        FindRequest(partition(broker, index), offset, partition_bytes_max) for index, offset in positions
    ]
    return await broker.context.fetcher.fetch(
        wanted, bytes_max=bytes_max, bytes_min=bytes_min, wait_ms=wait_ms
    )


def offsets(records: Sequence[memoryview]) -> list[int]:
    return [header.base_offset for run in records for _, header in iter_headers(run)]


def byte_length(answers: Sequence[PartitionBytes]) -> int:
    return sum(len(run) for answer in answers for run in answer.records)


async def parked(broker: DataPathBroker) -> None:
    """Returns when a fetch waits for a commit."""
    while not len(broker.context.fetcher._parking):
        await asyncio.sleep(0)
    # Registered before its find; the database's thread answers that.
    while "find_batches" not in broker.parts.link.calls:
        await asyncio.sleep(0)
    await broker.context.control_plane.offset_bounds([partition(broker, 0)])
    for _ in range(5):
        await asyncio.sleep(0)


async def test_answers_come_in_the_order_asked(broker: DataPathBroker) -> None:
    for index in (0, 1, 2):
        await produce(broker, index, batch_of(1))
    answers = await fetch(broker, (2, 0), (0, 0), (1, 0))
    assert [answer.partition.index for answer in answers] == [2, 0, 1]
    assert [offsets(answer.records) for answer in answers] == [[0], [0], [0]]


async def test_a_fetch_that_has_something_does_not_wait(broker: DataPathBroker) -> None:
    await produce(broker, 0, batch_of(1))
    (answer, _) = await fetch(broker, (0, 0), (1, 0), wait_ms=LONG_MS)
    assert offsets(answer.records) == [0]


async def test_a_commit_wakes_the_fetch_that_waits_for_its_partition(broker: DataPathBroker) -> None:
    waiting = asyncio.ensure_future(fetch(broker, (0, 0), (1, 0), wait_ms=LONG_MS))
    await parked(broker)
    assert not waiting.done()
    await produce(broker, 1, batch_of(1))
    assert [offsets(answer.records) for answer in await waiting] == [[], [0]]
    assert len(broker.context.fetcher._parking) == 0


async def test_a_commit_elsewhere_wakes_nobody(broker: DataPathBroker) -> None:
    waiting = asyncio.ensure_future(fetch(broker, (0, 0), wait_ms=LONG_MS))
    await parked(broker)
    await produce(broker, 2, batch_of(1))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not waiting.done()
    await produce(broker, 0, batch_of(1))
    assert [offsets(answer.records) for answer in await waiting] == [[0]]


async def test_too_few_bytes_are_waited_for_until_there_are_enough(broker: DataPathBroker) -> None:
    size = len(batch_of(1))
    waiting = asyncio.ensure_future(fetch(broker, (0, 0), (1, 0), bytes_min=3 * size, wait_ms=LONG_MS))
    await parked(broker)
    await produce(broker, 0, batch_of(1))
    await produce(broker, 1, batch_of(1))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not waiting.done()
    await produce(broker, 0, batch_of(1))
    assert byte_length(await waiting) == 3 * size


async def test_when_the_time_is_over_what_there_is_is_returned(broker: DataPathBroker) -> None:
    await produce(broker, 0, batch_of(1))
    (answer,) = await fetch(broker, (0, 0), bytes_min=BYTES_MAX, wait_ms=5)
    assert offsets(answer.records) == [0]


@pytest.mark.parametrize("wait_ms", [0, -1, 1])
async def test_nothing_to_return_and_no_time_gives_nothing(broker: DataPathBroker, wait_ms: int) -> None:
    (answer,) = await fetch(broker, (0, 0), wait_ms=wait_ms)
    assert (answer.error, answer.records, answer.high_watermark) == (ErrorCode.NONE, [], 0)


@pytest.mark.parametrize("limited", ["bytes_max", "partition_bytes_max"])
async def test_a_minimum_that_the_limits_forbid_is_not_waited_for(
    broker: DataPathBroker, limited: str
) -> None:
    size = len(batch_of(1))
    await produce(broker, 0, batch_of(1), batch_of(2), batch_of(3))
    (answer,) = await fetch(
        broker, (0, 0), bytes_min=BYTES_MAX, wait_ms=LONG_MS, **{limited: 2 * size + size // 2}
    )
    assert offsets(answer.records) == [0, 1]


async def test_a_partition_left_out_by_the_limits_ends_the_wait_too(broker: DataPathBroker) -> None:
    size = len(batch_of(1))
    await produce(broker, 0, batch_of(1))
    await produce(broker, 1, batch_of(1))
    answers = await fetch(
        broker, (0, 0), (1, 0), bytes_min=BYTES_MAX, wait_ms=LONG_MS, bytes_max=size + size // 2
    )
    assert [offsets(answer.records) for answer in answers] == [[0], []]


async def test_an_error_is_told_at_once(broker: DataPathBroker) -> None:
    answers = await fetch(broker, (0, 0), (1, 7), wait_ms=LONG_MS)
    assert [answer.error for answer in answers] == [ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE]


async def test_a_partition_that_nobody_knows_is_an_error_of_its_own(broker: DataPathBroker) -> None:
    await produce(broker, 0, batch_of(1))
    unknown = FindRequest(PartitionId(0, TopicId(bytes(16)), 0), 0, BYTES_MAX)
    known = FindRequest(partition(broker, 0), 0, BYTES_MAX)
    answers = await broker.context.fetcher.fetch(
        [unknown, known], bytes_max=BYTES_MAX, bytes_min=1, wait_ms=LONG_MS
    )
    assert [answer.error for answer in answers] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE]
    assert offsets(answers[1].records) == [0]


async def test_a_coordinator_that_does_not_answer_is_unavailable(broker: DataPathBroker) -> None:
    broker.parts.link.is_down = True
    with pytest.raises(Unavailable):
        await fetch(broker, (0, 0), wait_ms=LONG_MS)
    assert len(broker.context.fetcher._parking) == 0


async def test_a_fetch_that_is_cancelled_leaves_no_trace(broker: DataPathBroker) -> None:
    waiting = asyncio.ensure_future(fetch(broker, (0, 0), wait_ms=LONG_MS))
    await parked(broker)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert len(broker.context.fetcher._parking) == 0
    await produce(broker, 0, batch_of(1))


async def test_a_stopping_broker_sends_the_waiting_away(broker: DataPathBroker) -> None:
    waiting = asyncio.ensure_future(fetch(broker, (0, 0), wait_ms=LONG_MS))
    await parked(broker)
    broker.context.fetcher._parking.close()
    assert [answer.records for answer in await waiting] == [[]]
    assert [answer.records for answer in await fetch(broker, (0, 0), wait_ms=LONG_MS)] == [[]]


async def test_what_lies_before_a_failed_read_is_returned(broker: DataPathBroker) -> None:
    await produce(broker, 0, batch_of(1), batch_of(2))
    first_key = next(iter(broker.stored._objects))
    await produce(broker, 0, batch_of(3))
    await produce(broker, 0, batch_of(4))
    second_key = list(broker.stored._objects)[1]
    broker.cache.forget(second_key)
    broker.store.get_faults = CallFaults(refused=1.0)
    assert first_key in broker.cache
    (answer,) = await fetch(broker, (0, 0))
    assert (answer.error, offsets(answer.records)) == (ErrorCode.NONE, [0, 1])
    (answer,) = await fetch(broker, (0, 2))
    assert (answer.error, answer.records) == (ErrorCode.KAFKA_STORAGE_ERROR, [])
    broker.store.get_faults = CallFaults()
    (answer,) = await fetch(broker, (0, 2))
    assert offsets(answer.records) == [2, 3]


@pytest.mark.parametrize("bytes_max", [0, 1, 700, 5000, 200 * KIB])
@pytest.mark.parametrize("partition_bytes_max", [0, 300, 1500, 100 * KIB, BYTES_MAX])
async def test_responses_keep_to_their_limits_and_follow_each_other_to_the_end(
    broker: DataPathBroker, bytes_max: int, partition_bytes_max: int
) -> None:
    batches = [batch_of(1, value=bytes(size)) for size in (10, 500, 100, 70 * KIB, 10, 900, 30 * KIB)]
    for index in (0, 1, 2):
        for batch in batches[index:]:
            await produce(broker, index, batch)
    largest = max(map(len, batches))
    positions = {0: 0, 1: 0, 2: 0}
    for _ in range(60):
        order = sorted(positions, key=lambda index: positions[index])
        answers = await fetch(
            broker,
            *((index, positions[index]) for index in order),
            bytes_max=bytes_max,
            partition_bytes_max=partition_bytes_max,
        )
        assert byte_length(answers) <= max(bytes_max, largest)
        for answer in answers:
            found = offsets(answer.records)
            start = positions[answer.partition.index]
            assert found == list(range(start, start + len(found)))
            assert byte_length([answer]) <= max(partition_bytes_max, largest)
            positions[answer.partition.index] += len(found)
    assert positions == {0: 7, 1: 6, 2: 5}

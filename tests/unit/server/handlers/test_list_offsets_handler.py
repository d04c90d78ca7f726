"""ListOffsets: both ends, and for a timestamp the exact record."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inkless.cluster.directory import TopicEntry
from inkless.coordinator.types import DeleteRecordsRequest
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from inkless.records.compress import Codec
from inkless.records.encode import encode_batch
from inkless.records.record import Record
from inkless.server.handlers.list_offsets import Special
from inkless.testing.faults import CallFaults
from support.data_path_broker import DataPathBroker, batch_of, data_path_broker

NOTHING = (ErrorCode.NONE, -1, -1)


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[DataPathBroker]:
    async with data_path_broker(tmp_path) as made:
        yield made


async def ask(
    broker: DataPathBroker,
    timestamp_ms: int,
    *,
    topic: str = "orders",
    index: int = 0,
    epoch: int = -1,
    version: int | None = None,
) -> tuple[int, int, int]:
    """Error code, offset and timestamp."""
    wanted = ListOffsetsPartition(index, epoch, timestamp_ms)
    response = await broker.ask(
        ListOffsetsRequest(topics=[ListOffsetsTopic(topic, [wanted])]), version=version
    )
    answer = response.topics[0].partitions[0]
    assert (response.topics[0].name, answer.partition_index) == (topic, index)
    return answer.error_code, answer.offset, answer.timestamp


async def delete_before(broker: DataPathBroker, entry: TopicEntry, offset: int) -> None:
    (result,) = await broker.context.control_plane.delete_records(
        [DeleteRecordsRequest(entry.partitions[0], offset)]
    )
    assert result.error is ErrorCode.NONE


@pytest.fixture
async def entry(broker: DataPathBroker) -> TopicEntry:
    """Offsets 0 to 6 with the timestamps 10, 20, 30; 25, 40; 35; 50, in three runs."""
    entry = await broker.create("orders")
    await broker.produce_to(entry, 0, batch_of(10, 20, 30), batch_of(25, 40))
    await broker.produce_to(entry, 0, batch_of(35))
    await broker.produce_to(entry, 0, batch_of(50))
    return entry


@pytest.mark.parametrize("from_cache", [True, False])
@pytest.mark.parametrize(
    ("timestamp_ms", "offset", "found_ms"),
    [(0, 0, 10), (10, 0, 10), (11, 1, 20), (30, 2, 30), (31, 4, 40), (40, 4, 40), (41, 6, 50), (50, 6, 50)],
)
async def test_a_timestamp_finds_the_first_record_that_is_not_older(
    broker: DataPathBroker,
    entry: TopicEntry,
    timestamp_ms: int,
    offset: int,
    found_ms: int,
    from_cache: bool,
) -> None:
    if not from_cache:
        broker.forget_objects()
    assert await ask(broker, timestamp_ms) == (ErrorCode.NONE, offset, found_ms)


async def test_a_timestamp_after_all_records_finds_nothing(broker: DataPathBroker, entry: TopicEntry) -> None:
    assert await ask(broker, 51) == NOTHING


@pytest.mark.parametrize(
    ("log_start", "timestamp_ms", "offset", "found_ms"),
    [
        (1, 0, 1, 20),
        (2, 15, 2, 30),
        (3, 0, 3, 25),
        (3, 26, 4, 40),
        (5, 0, 5, 35),
        (5, 36, 6, 50),
        (6, 0, 6, 50),
    ],
)
async def test_deleted_records_are_not_found_even_if_their_run_is_still_there(
    broker: DataPathBroker, entry: TopicEntry, log_start: int, timestamp_ms: int, offset: int, found_ms: int
) -> None:
    await delete_before(broker, entry, log_start)
    assert await ask(broker, timestamp_ms) == (ErrorCode.NONE, offset, found_ms)


async def test_when_a_run_s_only_match_was_deleted_the_search_goes_on_behind_it(
    broker: DataPathBroker,
) -> None:
    entry = await broker.create("orders")
    await broker.produce_to(entry, 0, batch_of(90, 1), batch_of(2))
    await broker.produce_to(entry, 0, batch_of(3))
    await broker.produce_to(entry, 0, batch_of(60))
    await delete_before(broker, entry, 1)
    assert await ask(broker, 50) == (ErrorCode.NONE, 4, 60)
    assert await ask(broker, 70) == NOTHING


@pytest.mark.parametrize("codec", list(Codec))
async def test_the_record_is_found_in_compressed_batches_too(broker: DataPathBroker, codec: Codec) -> None:
    entry = await broker.create("orders")
    records = [Record(delta, 100 + delta, None, bytes(50)) for delta in range(10)]
    await broker.produce_to(entry, 0, encode_batch(records, codec=codec))
    assert await ask(broker, 107) == (ErrorCode.NONE, 7, 107)


@pytest.mark.parametrize("version", range(1, 12))
async def test_both_ends_are_told_in_every_version(
    broker: DataPathBroker, entry: TopicEntry, version: int
) -> None:
    await delete_before(broker, entry, 2)
    assert await ask(broker, Special.EARLIEST, version=version) == (ErrorCode.NONE, 2, -1)
    assert await ask(broker, Special.LATEST, version=version) == (ErrorCode.NONE, 7, -1)


async def test_the_ends_of_an_empty_log_are_zero_and_nothing_is_found_in_it(broker: DataPathBroker) -> None:
    await broker.create("orders")
    assert await ask(broker, Special.EARLIEST) == (ErrorCode.NONE, 0, -1)
    assert await ask(broker, Special.LATEST) == (ErrorCode.NONE, 0, -1)
    assert await ask(broker, 0) == NOTHING
    assert await ask(broker, Special.MAX_TIMESTAMP) == NOTHING


async def test_the_greatest_timestamp_is_the_first_record_that_has_it(broker: DataPathBroker) -> None:
    entry = await broker.create("orders")
    await broker.produce_to(entry, 0, batch_of(1, 9, 9), batch_of(9))
    await broker.produce_to(entry, 0, batch_of(9))
    assert await ask(broker, Special.MAX_TIMESTAMP) == (ErrorCode.NONE, 1, 9)


async def test_the_greatest_timestamp_is_that_of_a_living_record(broker: DataPathBroker) -> None:
    entry = await broker.create("orders")
    await broker.produce_to(entry, 0, batch_of(90, 1), batch_of(2))
    await broker.produce_to(entry, 0, batch_of(30))
    await broker.produce_to(entry, 0, batch_of(60, 60))
    await delete_before(broker, entry, 1)
    assert await ask(broker, Special.MAX_TIMESTAMP) == (ErrorCode.NONE, 4, 60)


async def test_what_only_tiered_logs_have_is_nothing_here(broker: DataPathBroker, entry: TopicEntry) -> None:
    assert await ask(broker, Special.LATEST_TIERED) == NOTHING
    assert await ask(broker, Special.EARLIEST_PENDING_UPLOAD) == NOTHING
    assert await ask(broker, Special.EARLIEST_LOCAL) == (ErrorCode.NONE, 0, -1)


async def test_a_special_timestamp_of_the_future_is_not_understood(
    broker: DataPathBroker, entry: TopicEntry
) -> None:
    assert (await ask(broker, -7))[0] == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize(("topic", "index"), [("nowhere", 0), ("orders", 1), ("orders", -1)])
async def test_an_unknown_partition_is_named_as_such(
    broker: DataPathBroker, entry: TopicEntry, topic: str, index: int
) -> None:
    answer = await ask(broker, Special.LATEST, topic=topic, index=index)
    assert answer == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)


@pytest.mark.parametrize("timestamp_ms", [Special.LATEST, Special.MAX_TIMESTAMP, 5])
async def test_a_topic_that_was_deleted_elsewhere_is_unknown(
    broker: DataPathBroker, entry: TopicEntry, timestamp_ms: int
) -> None:
    await broker.parts.control_plane.delete_topic(entry.topic.topic_id)
    assert (await ask(broker, timestamp_ms))[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_leader_epoch_of_the_future_is_unknown(broker: DataPathBroker, entry: TopicEntry) -> None:
    assert (await ask(broker, Special.LATEST, epoch=1))[0] == ErrorCode.UNKNOWN_LEADER_EPOCH


async def test_a_coordinator_that_does_not_answer_makes_the_client_try_again(
    broker: DataPathBroker, entry: TopicEntry
) -> None:
    broker.parts.link.is_down = True
    assert (await ask(broker, Special.LATEST))[0] == ErrorCode.KAFKA_STORAGE_ERROR


async def test_a_store_that_fails_makes_the_client_try_again(
    broker: DataPathBroker, entry: TopicEntry
) -> None:
    broker.forget_objects()
    broker.store.get_faults = CallFaults(refused=1.0)
    assert (await ask(broker, 15))[0] == ErrorCode.KAFKA_STORAGE_ERROR


async def test_damaged_bytes_are_told_as_such(broker: DataPathBroker, entry: TopicEntry) -> None:
    broker.forget_objects()
    broker.damage_objects()
    assert (await ask(broker, 15))[0] == ErrorCode.CORRUPT_MESSAGE


async def test_when_the_client_for_whom_an_object_is_read_leaves_the_others_are_told_to_ask_again(
    broker: DataPathBroker, entry: TopicEntry
) -> None:
    broker.forget_objects()
    broker.store.get_faults = CallFaults(hangs=1.0)
    leaving = asyncio.ensure_future(ask(broker, 15))
    while not broker.cache._loads:
        await asyncio.sleep(0)
    staying = asyncio.ensure_future(ask(broker, 15))
    while not broker.cache.counters.shared_loads:
        await asyncio.sleep(0)
    leaving.cancel()
    assert (await staying)[0] == ErrorCode.KAFKA_STORAGE_ERROR

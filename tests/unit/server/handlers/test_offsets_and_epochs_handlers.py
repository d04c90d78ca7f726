"""OffsetForLeaderEpoch and DeleteRecords over logs that the coordinator knows."""

from typing import Any

import pytest

from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from support.handler_broker import HandlerBroker

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def epoch_end(
    broker: HandlerBroker, epoch: int, *, current: int = -1, index: int = 0, version: int | None = None
) -> tuple[int, int, int]:
    asked = OffsetForLeaderPartition(index, current, epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic("orders", [asked])])
    (topic,) = (await broker.ask(request, version=version)).topics
    (answer,) = topic.partitions
    assert (topic.topic, answer.partition) == ("orders", index)
    return answer.error_code, answer.leader_epoch, answer.end_offset


async def delete(broker: HandlerBroker, *offsets: int, version: int | None = None) -> list[tuple[int, int]]:
    """Error code and low watermark for partitions 0, 1, … of the topic."""
    asked = [DeleteRecordsPartition(index, offset) for index, offset in enumerate(offsets)]
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic("orders", asked)])
    (topic,) = (await broker.ask(request, version=version)).topics
    assert [each.partition_index for each in topic.partitions] == list(range(len(offsets)))
    return [(each.error_code, each.low_watermark) for each in topic.partitions]


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("current", [-1, 0])
async def test_the_only_epoch_ends_at_the_high_watermark(
    broker: HandlerBroker, version: int, current: int
) -> None:
    await broker.commit(await broker.create("orders"), 0, 10)
    assert await epoch_end(broker, 0, current=current, version=version) == (ErrorCode.NONE, 0, 10)


@pytest.mark.parametrize("epoch", [-1, 1, 5])
async def test_an_epoch_that_never_was_ends_nowhere(broker: HandlerBroker, epoch: int) -> None:
    await broker.commit(await broker.create("orders"), 0, 10)
    assert await epoch_end(broker, epoch) == (ErrorCode.NONE, -1, -1)


async def test_a_client_from_the_future_is_told_so(broker: HandlerBroker) -> None:
    await broker.create("orders")
    assert await epoch_end(broker, 0, current=1) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)


async def test_epochs_of_unknown_partitions_are_unknown(broker: HandlerBroker) -> None:
    assert await epoch_end(broker, 0) == (UNKNOWN, -1, -1)
    entry = await broker.create("orders")
    assert await epoch_end(broker, 0, index=1) == (UNKNOWN, -1, -1)
    await broker.parts.control_plane.delete_topic(entry.topic.topic_id)
    assert await epoch_end(broker, 0) == (UNKNOWN, -1, -1)


async def test_the_coordinator_is_asked_once_for_all_partitions(broker: HandlerBroker) -> None:
    topics = []
    for name in ("a", "b"):
        entry = await broker.create(name, 2)
        await broker.commit(entry, 1, 5)
        partitions = [OffsetForLeaderPartition(1, -1, 0), OffsetForLeaderPartition(0, -1, 0)]
        topics.append(OffsetForLeaderTopic(name, partitions))
    broker.parts.link.calls.clear()
    response: Any = await broker.ask(OffsetForLeaderEpochRequest(topics=topics))
    assert [[each.end_offset for each in topic.partitions] for topic in response.topics] == [[5, 0], [5, 0]]
    assert broker.parts.link.calls == ["offset_bounds"]


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_records_are_deleted_up_to_an_offset_or_all(broker: HandlerBroker, version: int) -> None:
    entry = await broker.create("orders", 2)
    for index in (0, 1):
        await broker.commit(entry, index, 10)
    assert await delete(broker, 4, -1, version=version) == [(ErrorCode.NONE, 4), (ErrorCode.NONE, 10)]
    bounds = await broker.parts.control_plane.offset_bounds(entry.partitions)
    assert [each.log_start_offset for each in bounds] == [4, 10]


async def test_a_log_start_never_goes_back(broker: HandlerBroker) -> None:
    await broker.commit(await broker.create("orders"), 0, 10)
    await delete(broker, 6)
    assert await delete(broker, 2) == [(ErrorCode.NONE, 6)]


async def test_offsets_beyond_the_log_are_refused_each_by_itself(broker: HandlerBroker) -> None:
    entry = await broker.create("orders", 3)
    for index in range(3):
        await broker.commit(entry, index, 10)
    assert await delete(broker, 11, 10, -2, 0) == [
        (ErrorCode.OFFSET_OUT_OF_RANGE, -1),
        (ErrorCode.NONE, 10),
        (ErrorCode.OFFSET_OUT_OF_RANGE, -1),
        (UNKNOWN, -1),
    ]


async def test_records_of_a_topic_that_only_compacts_are_kept(broker: HandlerBroker) -> None:
    entry = await broker.create("orders", cleanup_policy="compact")
    await broker.commit(entry, 0, 10)
    assert await delete(broker, 5) == [(ErrorCode.POLICY_VIOLATION, -1)]
    (bounds,) = await broker.parts.control_plane.offset_bounds(entry.partitions)
    assert bounds.log_start_offset == 0


async def test_without_a_database_offsets_get_a_retriable_code(broker: HandlerBroker) -> None:
    await broker.create("orders")
    broker.parts.link.is_down = True
    assert await epoch_end(broker, 0) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1, -1)
    assert await delete(broker, 0) == [(ErrorCode.REQUEST_TIMED_OUT, -1)]
    assert ErrorCode.OFFSET_NOT_AVAILABLE.is_retriable


async def test_an_offset_that_no_log_has_is_refused_without_asking(broker: HandlerBroker) -> None:
    await broker.create("orders")
    broker.parts.link.calls.clear()
    assert await delete(broker, -2) == [(ErrorCode.OFFSET_OUT_OF_RANGE, -1)]
    assert broker.parts.link.calls == []

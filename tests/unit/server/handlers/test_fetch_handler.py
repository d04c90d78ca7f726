"""Fetch: the right bytes, errors for their own partition only, and sessions that tell only what is new."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from inkless.coordinator.types import DeleteRecordsRequest
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from inkless.records.header import read_header
from inkless.testing.faults import CallFaults
from support.data_path_broker import BYTES_MAX, DataPathBroker, batch_of, data_path_broker, records_of


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[DataPathBroker]:
    async with data_path_broker(tmp_path) as made:
        yield made


def fetch(
    *positions: tuple[int, int],
    topic: str = "orders",
    session: tuple[int, int] = (0, -1),
    forgotten: Sequence[int] = (),
    wait_ms: int = 0,
    bytes_min: int = 1,
    bytes_max: int = BYTES_MAX,
) -> FetchRequest:
    """Positions are (partition, offset); a session is (id, epoch)."""
    partitions = [
        FetchPartition(index, fetch_offset=offset, partition_max_bytes=bytes_max)
        for index, offset in positions
    ]
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=bytes_min,
        max_bytes=bytes_max,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchTopic(topic, partitions=partitions)] if partitions else [],
        forgotten_topics_data=[ForgottenTopic(topic, partitions=list(forgotten))] if forgotten else [],
    )


def answers(response: FetchResponse) -> dict[int, PartitionData]:
    assert response.error_code == ErrorCode.NONE
    return {data.partition_index: data for topic in response.responses for data in topic.partitions}


async def test_ends_of_the_log_come_with_the_records(broker: DataPathBroker) -> None:
    entry = await broker.create("orders")
    await broker.produce_to(entry, 0, batch_of(1, 2), batch_of(3))
    await broker.context.control_plane.delete_records([DeleteRecordsRequest(entry.partitions[0], 1)])
    answer = await broker.fetch_from(entry, 0, 1)
    assert (answer.log_start_offset, answer.high_watermark, answer.last_stable_offset) == (1, 3, 3)
    assert read_header(memoryview(records_of(answer))).base_offset == 0


async def test_the_batch_that_holds_the_offset_comes_first(broker: DataPathBroker) -> None:
    entry = await broker.create("orders")
    await broker.produce_to(entry, 0, batch_of(1, 2), batch_of(3, 4), batch_of(5))
    read = records_of(await broker.fetch_from(entry, 0, 3))
    assert read_header(memoryview(read)).base_offset == 2
    assert len(read) == len(batch_of(3, 4)) + len(batch_of(5))


async def test_one_batch_is_given_however_small_the_limit(broker: DataPathBroker) -> None:
    entry = await broker.create("orders", 2)
    await broker.produce_to(entry, 0, batch_of(1), batch_of(2))
    await broker.produce_to(entry, 1, batch_of(1))
    found = answers(await broker.ask(fetch((0, 0), (1, 0), bytes_max=1), version=12))
    assert len(records_of(found[0])) == len(batch_of(1))
    assert (records_of(found[1]), found[1].error_code, found[1].high_watermark) == (b"", ErrorCode.NONE, 1)


@pytest.mark.parametrize("offset", [-1, 0, 4, 2**62])
async def test_an_offset_outside_the_log_is_out_of_range(broker: DataPathBroker, offset: int) -> None:
    entry = await broker.create("orders")
    await broker.produce_to(entry, 0, batch_of(1, 2, 3))
    await broker.context.control_plane.delete_records([DeleteRecordsRequest(entry.partitions[0], 1)])
    answer = await broker.fetch_from(entry, 0, offset)
    assert answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (answer.log_start_offset, answer.high_watermark, records_of(answer)) == (1, 3, b"")


async def test_at_the_high_watermark_there_is_nothing_and_no_error(broker: DataPathBroker) -> None:
    entry = await broker.create("orders")
    await broker.produce_to(entry, 0, batch_of(1))
    answer = await broker.fetch_from(entry, 0, 1)
    assert (answer.error_code, records_of(answer)) == (ErrorCode.NONE, b"")


async def test_an_unknown_partition_is_told_at_once_and_the_others_get_their_records(
    broker: DataPathBroker,
) -> None:
    entry = await broker.create("orders")
    await broker.produce_to(entry, 0, batch_of(1))
    request = fetch((0, 0), (7, 0), wait_ms=600_000, bytes_min=1 << 20)
    found = answers(await broker.ask(request, version=12))
    assert found[7].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert len(records_of(found[0])) == len(batch_of(1))


@pytest.mark.parametrize(
    ("version", "code"), [(12, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (13, ErrorCode.UNKNOWN_TOPIC_ID)]
)
async def test_an_unknown_topic_is_named_as_the_client_names_topics(
    broker: DataPathBroker, version: int, code: ErrorCode
) -> None:
    topic = FetchTopic("nowhere", bytes(15) + b"\x05", [FetchPartition(0)])
    response = await broker.ask(FetchRequest(topics=[topic], max_wait_ms=600_000), version=version)
    assert answers(response)[0].error_code == code


@pytest.mark.parametrize("version", [13, 18])
async def test_from_version_13_on_topics_are_named_by_id(broker: DataPathBroker, version: int) -> None:
    entry = await broker.create("orders")
    await broker.produce_to(entry, 0, batch_of(1))
    answer = await broker.fetch_from(entry, 0, 0, version=version)
    assert len(records_of(answer)) == len(batch_of(1))


async def test_a_topic_that_was_deleted_elsewhere_is_unknown(broker: DataPathBroker) -> None:
    entry = await broker.create("orders")
    await broker.parts.control_plane.delete_topic(entry.topic.topic_id)
    assert (await broker.fetch_from(entry, 0, 0)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_without_a_coordinator_every_partition_is_to_be_asked_for_again(broker: DataPathBroker) -> None:
    await broker.create("orders", 2)
    broker.parts.link.is_down = True
    found = answers(await broker.ask(fetch((0, 0), (1, 0)), version=12))
    assert [found[i].error_code for i in (0, 1)] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2


async def test_a_store_that_fails_costs_only_the_partitions_that_need_it(broker: DataPathBroker) -> None:
    entry = await broker.create("orders", 2)
    await broker.produce_to(entry, 0, batch_of(1))
    broker.forget_objects()
    await broker.produce_to(entry, 1, batch_of(1))
    broker.store.get_faults = CallFaults(refused=1.0)
    found = answers(await broker.ask(fetch((0, 0), (1, 0)), version=12))
    assert found[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert len(records_of(found[1])) == len(batch_of(1))


async def test_damaged_bytes_are_an_error_of_their_partition_and_are_never_served(
    broker: DataPathBroker,
) -> None:
    entry = await broker.create("orders", 2)
    await asyncio.gather(*(broker.produce_to(entry, index, batch_of(1)) for index in (0, 1)))
    broker.forget_objects()
    broker.damage_objects()
    for _ in range(2):
        found = answers(await broker.ask(fetch((0, 0), (1, 0)), version=12))
        assert len(records_of(found[0])) == len(batch_of(1))
        assert (found[1].error_code, records_of(found[1])) == (ErrorCode.CORRUPT_MESSAGE, b"")


async def test_a_fetch_waits_for_a_commit_and_no_longer(broker: DataPathBroker) -> None:
    entry = await broker.create("orders", 2)
    waiting = asyncio.ensure_future(broker.ask(fetch((0, 0), (1, 0), wait_ms=600_000), version=12))
    await asyncio.sleep(0)
    assert not waiting.done()
    await broker.produce_to(entry, 1, batch_of(1))
    assert len(records_of(answers(await waiting)[1])) == len(batch_of(1))


# Sessions


async def begin_session(broker: DataPathBroker, *positions: tuple[int, int]) -> int:
    response = await broker.ask(fetch(*positions, session=(0, 0)), version=12)
    assert len(answers(response)) == len(positions)
    session_id: int = response.session_id
    assert session_id != 0
    return session_id


async def test_a_session_answers_only_what_is_new(broker: DataPathBroker) -> None:
    entry = await broker.create("orders", 3)
    session_id = await begin_session(broker, (0, 0), (1, 0), (2, 0))
    await broker.produce_to(entry, 1, batch_of(1))
    response = await broker.ask(fetch(session=(session_id, 1)), version=12)
    assert response.session_id == session_id
    assert list(answers(response)) == [1]
    response = await broker.ask(fetch((1, 1), session=(session_id, 2)), version=12)
    assert answers(response) == {}
    assert response.responses == []


async def test_a_high_watermark_that_moved_is_news_also_without_records(broker: DataPathBroker) -> None:
    entry = await broker.create("orders", 2)
    session_id = await begin_session(broker, (0, 0), (1, 0))
    await broker.produce_to(entry, 0, batch_of(1))
    await broker.produce_to(entry, 1, batch_of(1))
    response = await broker.ask(fetch(session=(session_id, 1), bytes_max=1), version=12)
    assert {index: len(records_of(data)) > 0 for index, data in answers(response).items()} == {
        0: True,
        1: False,
    }


async def test_served_partitions_stand_behind_the_others(broker: DataPathBroker) -> None:
    entry = await broker.create("orders", 2)
    for index in (0, 1):
        await broker.produce_to(entry, index, batch_of(1), batch_of(2))
    session_id = await begin_session(broker, (0, 0), (1, 0))
    served = []
    for epoch in (1, 2, 3):
        response = await broker.ask(fetch(session=(session_id, epoch), bytes_max=1), version=12)
        served += [index for index, data in answers(response).items() if records_of(data)]
    assert served in ([0, 1, 0], [1, 0, 1])


async def test_forgotten_partitions_are_not_answered_any_more(broker: DataPathBroker) -> None:
    entry = await broker.create("orders", 2)
    session_id = await begin_session(broker, (0, 0), (1, 0))
    for index in (0, 1):
        await broker.produce_to(entry, index, batch_of(1))
    response = await broker.ask(fetch(session=(session_id, 1), forgotten=[0]), version=12)
    assert list(answers(response)) == [1]


async def test_an_error_is_told_again_and_again(broker: DataPathBroker) -> None:
    await broker.create("orders")
    session_id = await begin_session(broker, (0, 0), (9, 0))
    for epoch in (1, 2):
        response = await broker.ask(fetch(session=(session_id, epoch), wait_ms=600_000), version=12)
        assert [data.error_code for data in answers(response).values()] == [
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ]


@pytest.mark.parametrize(
    ("shift", "epoch", "code"),
    [(0, 7, ErrorCode.INVALID_FETCH_SESSION_EPOCH), (1, 1, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)],
)
async def test_a_session_that_does_not_fit_is_refused_as_a_whole(
    broker: DataPathBroker, shift: int, epoch: int, code: ErrorCode
) -> None:
    await broker.create("orders")
    session_id = await begin_session(broker, (0, 0))
    response = await broker.ask(fetch(session=(session_id + shift, epoch)), version=12)
    assert (response.error_code, response.responses) == (code, [])


@pytest.mark.parametrize("epoch", [-1, 0])
async def test_a_full_request_ends_the_session_it_names(broker: DataPathBroker, epoch: int) -> None:
    await broker.create("orders")
    session_id = await begin_session(broker, (0, 0))
    response = await broker.ask(fetch((0, 0), session=(session_id, epoch)), version=12)
    assert response.session_id != session_id
    assert (response.session_id == 0) == (epoch == -1)
    again = await broker.ask(fetch(session=(session_id, 1)), version=12)
    assert again.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND

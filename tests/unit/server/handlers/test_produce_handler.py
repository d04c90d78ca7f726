"""Produce: every batch is durable and ordered, or its own partition is told what was wrong with it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from inkless.records.compress import Codec
from inkless.records.decode import decode_records
from inkless.records.encode import ProducerStamp, encode_batch
from inkless.records.header import LENGTH_PREFIX_BYTES, MAGIC_AT, read_header
from inkless.records.record import Record
from inkless.testing.faults import CallFaults
from support.data_path_broker import DataPathBroker, batch_of, data_path_broker, records_of
from support.handler_broker import Caller

FUTURE_MS = 1 << 50


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[DataPathBroker]:
    async with data_path_broker(tmp_path) as made:
        yield made


def one_record(**options: object) -> bytes:
    return encode_batch([Record(0, 1000, None, b"value")], **options)  # type: ignore[arg-type]  # handed on


def stamped(sequence: int, *, epoch: int = 0, producer_id: int = 7) -> bytes:
    return one_record(producer=ProducerStamp(producer_id, epoch, sequence))


def damaged(batch: bytes) -> bytes:
    return batch[:-1] + bytes([batch[-1] ^ 1])


def with_magic(batch: bytes, magic: int) -> bytes:
    return batch[:MAGIC_AT] + bytes([magic]) + batch[MAGIC_AT + 1 :]


async def test_what_was_produced_is_read_back_with_its_offset_in_place(broker: DataPathBroker) -> None:
    entry = await broker.create("orders")
    first, second = batch_of(1, 2, 3), batch_of(4)
    assert (await broker.produce_to(entry, 0, first)).base_offset == 0
    assert (await broker.produce_to(entry, 0, second)).base_offset == 3
    read = records_of(await broker.fetch_from(entry, 0, 0))
    assert read[LENGTH_PREFIX_BYTES + 4 : len(first)] == first[LENGTH_PREFIX_BYTES + 4 :]
    assert read[len(first) + MAGIC_AT :] == second[MAGIC_AT:]
    headers = [read_header(memoryview(read)), read_header(memoryview(read), len(first))]
    assert [(header.base_offset, header.leader_epoch) for header in headers] == [(0, 0), (3, 0)]


async def test_bytes_that_the_next_request_overwrites_are_kept(broker: DataPathBroker) -> None:
    entry = await broker.create("orders")
    batch = batch_of(1)
    topic = TopicProduceData("orders", partition_data=[PartitionProduceData(0, memoryview(batch))])
    await broker.produce(ProduceRequest(acks=1, topic_data=[topic]), version=9, frame_is_owned=False)
    broker.forget_objects()
    assert records_of(await broker.fetch_from(entry, 0, 0))[MAGIC_AT:] == batch[MAGIC_AT:]


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (b"", ErrorCode.INVALID_RECORD),
        (b"short", ErrorCode.CORRUPT_MESSAGE),
        (damaged(one_record()), ErrorCode.CORRUPT_MESSAGE),
        (one_record()[:-1], ErrorCode.CORRUPT_MESSAGE),
        (with_magic(one_record(), 1), ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
        (with_magic(one_record(), 3), ErrorCode.CORRUPT_MESSAGE),
        (batch_of(1, value=bytes(2000)), ErrorCode.MESSAGE_TOO_LARGE),
        (batch_of(FUTURE_MS), ErrorCode.INVALID_TIMESTAMP),
        (one_record(log_append_time=True), ErrorCode.INVALID_TIMESTAMP),
        (one_record(control=True), ErrorCode.INVALID_RECORD),
        (one_record(transactional=True), ErrorCode.INVALID_TXN_STATE),
        (stamped(0) + stamped(1), ErrorCode.INVALID_RECORD),
        (stamped(0, epoch=-1), ErrorCode.INVALID_RECORD),
    ],
)
async def test_a_bad_batch_fails_its_own_partition_and_nothing_else(
    broker: DataPathBroker, records: bytes, code: ErrorCode
) -> None:
    entry = await broker.create("orders", 2, max_message_bytes="1500")
    partitions = [
        PartitionProduceData(0, memoryview(records)),
        PartitionProduceData(1, memoryview(batch_of(1))),
    ]
    topic = TopicProduceData("orders", partition_data=partitions)
    response = await broker.produce(ProduceRequest(acks=-1, topic_data=[topic]), version=9)
    assert response is not None
    bad, good = response.responses[0].partition_responses
    assert (bad.index, bad.error_code, bad.base_offset) == (0, code, -1)
    assert bad.error_message
    assert (good.index, good.error_code, good.base_offset) == (1, ErrorCode.NONE, 0)
    assert (await broker.fetch_from(entry, 0, 0)).high_watermark == 0


async def test_an_invalid_record_is_named_in_the_response(broker: DataPathBroker) -> None:
    outcome = await broker.produce_to(await broker.create("orders"), 0, one_record(control=True))
    assert [error.batch_index for error in outcome.record_errors] == [0]


async def test_no_records_at_all_are_refused(broker: DataPathBroker) -> None:
    await broker.create("orders")
    topic = TopicProduceData("orders", partition_data=[PartitionProduceData(0, None)])
    response = await broker.produce(ProduceRequest(acks=-1, topic_data=[topic]), version=9)
    assert response is not None
    assert response.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    ("version", "code"), [(6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE), (7, ErrorCode.NONE)]
)
async def test_zstd_is_for_clients_that_know_it(
    broker: DataPathBroker, version: int, code: ErrorCode
) -> None:
    entry = await broker.create("orders")
    outcome = await broker.produce_to(entry, 0, one_record(codec=Codec.ZSTD), version=version)
    assert outcome.error_code == code


@pytest.mark.parametrize("index", [1, -1, 2**31 - 1])
async def test_an_unknown_partition_is_named_as_such(broker: DataPathBroker, index: int) -> None:
    outcome = await broker.produce_to(await broker.create("orders"), index, batch_of(1))
    assert outcome.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("version", "code"), [(12, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (13, ErrorCode.UNKNOWN_TOPIC_ID)]
)
async def test_an_unknown_topic_is_named_as_the_client_names_topics(
    broker: DataPathBroker, version: int, code: ErrorCode
) -> None:
    topic = TopicProduceData(
        "nowhere", bytes(15) + b"\x05", [PartitionProduceData(0, memoryview(batch_of(1)))]
    )
    response = await broker.produce(ProduceRequest(acks=-1, topic_data=[topic]), version=version)
    assert response is not None
    assert response.responses[0].partition_responses[0].error_code == code


async def test_from_version_13_on_topics_are_named_by_id(broker: DataPathBroker) -> None:
    entry = await broker.create("orders")
    topic = TopicProduceData("", entry.topic.topic_id, [PartitionProduceData(0, memoryview(batch_of(1)))])
    response = await broker.produce(ProduceRequest(acks=-1, topic_data=[topic]), version=13)
    assert response is not None
    (answer,) = response.responses
    assert answer.topic_id == entry.topic.topic_id
    assert answer.partition_responses[0].error_code == ErrorCode.NONE


async def test_a_topic_that_was_deleted_elsewhere_is_refused_by_the_coordinator(
    broker: DataPathBroker,
) -> None:
    entry = await broker.create("orders")
    await broker.parts.control_plane.delete_topic(entry.topic.topic_id)
    outcome = await broker.produce_to(entry, 0, batch_of(1))
    assert outcome.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("request_of", "code"),
    [
        (lambda topics: ProduceRequest(acks=2, topic_data=topics), ErrorCode.INVALID_REQUIRED_ACKS),
        (
            lambda topics: ProduceRequest(acks=-1, transactional_id="tx", topic_data=topics),
            ErrorCode.INVALID_TXN_STATE,
        ),
    ],
)
async def test_what_is_wrong_with_a_request_is_told_for_every_partition(
    broker: DataPathBroker, request_of: Callable[[list[TopicProduceData]], ProduceRequest], code: ErrorCode
) -> None:
    entry = await broker.create("orders", 2)
    data = [PartitionProduceData(index, memoryview(batch_of(1))) for index in range(2)]
    response = await broker.produce(request_of([TopicProduceData("orders", partition_data=data)]), version=9)
    assert response is not None
    assert [each.error_code for each in response.responses[0].partition_responses] == [code, code]
    assert (await broker.fetch_from(entry, 0, 0)).high_watermark == 0


async def test_without_acks_nothing_is_answered_and_everything_stored(broker: DataPathBroker) -> None:
    entry = await broker.create("orders")
    topic = TopicProduceData("orders", partition_data=[PartitionProduceData(0, memoryview(batch_of(1)))])
    assert await broker.produce(ProduceRequest(acks=0, topic_data=[topic]), version=9) is None
    await broker.flush()
    assert (await broker.fetch_from(entry, 0, 0)).high_watermark == 1


async def test_without_acks_a_failure_ends_the_connection(broker: DataPathBroker) -> None:
    caller = Caller("PLAINTEXT")
    topic = TopicProduceData("no such topic", partition_data=[PartitionProduceData(0, memoryview(b""))])
    assert await broker.produce(ProduceRequest(acks=0, topic_data=[topic]), version=9, caller=caller) is None
    assert caller.refused is not None
    assert "UNKNOWN_TOPIC_OR_PARTITION" in caller.refused


async def test_an_empty_request_is_answered(broker: DataPathBroker) -> None:
    response = await broker.produce(ProduceRequest(acks=-1), version=9)
    assert response is not None
    assert response.responses == []


async def test_a_retry_is_told_its_first_offset_and_takes_none(broker: DataPathBroker) -> None:
    entry = await broker.create("orders")
    outcomes = [await broker.produce_to(entry, 0, stamped(sequence)) for sequence in (0, 1, 0)]
    assert [(each.error_code, each.base_offset) for each in outcomes] == [(0, 0), (0, 1), (0, 0)]
    assert (await broker.fetch_from(entry, 0, 0)).high_watermark == 2


@pytest.mark.parametrize(
    ("late", "code"),
    [
        (stamped(5, epoch=1), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (stamped(1, epoch=0), ErrorCode.INVALID_PRODUCER_EPOCH),
        (stamped(0, epoch=1), ErrorCode.DUPLICATE_SEQUENCE_NUMBER),
    ],
)
async def test_a_sequence_that_does_not_follow_is_refused(
    broker: DataPathBroker, late: bytes, code: ErrorCode
) -> None:
    entry = await broker.create("orders")
    count = 6 if code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER else 1
    for sequence in range(count):
        await broker.produce_to(entry, 0, stamped(sequence, epoch=1))
    assert (await broker.produce_to(entry, 0, late)).error_code == code
    assert (await broker.fetch_from(entry, 0, 0)).high_watermark == count


async def test_batches_behind_a_retry_in_the_same_object_are_read_at_their_own_offsets(
    broker: DataPathBroker,
) -> None:
    entry = await broker.create("orders")
    await broker.produce_to(entry, 0, stamped(0))
    sent = [batch_of(1), stamped(0), batch_of(2, 3), stamped(9), batch_of(4)]
    outcomes = await asyncio.gather(*(broker.produce_to(entry, 0, batch) for batch in sent))
    assert [each.base_offset for each in outcomes] == [1, 0, 2, -1, 4]
    for from_cache in (True, False):
        if not from_cache:
            broker.forget_objects()
        read = memoryview(records_of(await broker.fetch_from(entry, 0, 1)))
        expected = [(1, sent[0]), (2, sent[2]), (4, sent[4])]
        for base_offset, batch in expected:
            assert read_header(read).base_offset == base_offset
            assert bytes(read[MAGIC_AT : len(batch)]) == batch[MAGIC_AT:]
            read = read[len(batch) :]
        assert not read


async def test_a_store_that_fails_makes_the_client_try_again(broker: DataPathBroker) -> None:
    entry = await broker.create("orders")
    broker.store.put_faults = CallFaults(refused=1.0)
    outcome = await broker.produce_to(entry, 0, batch_of(1))
    assert (outcome.error_code, outcome.base_offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
    broker.store.put_faults = CallFaults()
    assert (await broker.produce_to(entry, 0, batch_of(1))).base_offset == 0


async def test_a_coordinator_that_does_not_answer_makes_the_client_try_again(tmp_path: Path) -> None:
    async with data_path_broker(tmp_path, overrides={"inkless.produce.commit.deadline.ms": "30"}) as broker:
        entry = await broker.create("orders")
        broker.parts.link.is_down = True
        assert (await broker.produce_to(entry, 0, batch_of(1))).error_code == ErrorCode.REQUEST_TIMED_OUT


async def test_a_broker_that_stops_sends_its_clients_away(broker: DataPathBroker) -> None:
    entry = await broker.create("orders")
    await broker.context.writer.stop()
    outcome = await broker.produce_to(entry, 0, batch_of(1))
    assert outcome.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_with_log_append_time_records_carry_the_broker_s_clock(broker: DataPathBroker) -> None:
    entry = await broker.create("orders", message_timestamp_type="LogAppendTime")
    before_ms = broker.context.clock.now_ms()
    outcome = await broker.produce_to(entry, 0, batch_of(5, FUTURE_MS))
    after_ms = broker.context.clock.now_ms()
    assert outcome.error_code == ErrorCode.NONE
    assert before_ms <= outcome.log_append_time_ms <= after_ms
    for _ in range(2):
        records = decode_records(memoryview(records_of(await broker.fetch_from(entry, 0, 0))))
        assert [record.timestamp_ms for record in records] == [outcome.log_append_time_ms] * 2
        broker.forget_objects()
    wanted = ListOffsetsPartition(0, timestamp=outcome.log_append_time_ms)
    answer = await broker.ask(ListOffsetsRequest(topics=[ListOffsetsTopic("orders", [wanted])]))
    assert answer.topics[0].partitions[0].offset == 0


async def test_with_create_time_no_append_time_is_told(broker: DataPathBroker) -> None:
    assert (await broker.produce_to(await broker.create("orders"), 0, batch_of(5))).log_append_time_ms == -1

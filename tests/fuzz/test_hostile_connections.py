"""Clients that take and do not give: connections, memory and attention belong to all (I8)."""

import contextlib
import struct
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from confluent_kafka import Producer

from clients.confluent_client import QUIET, create_topic
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    ApiVersionsRequest,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    MetadataRequest,
)
from inkless.records.compress import Codec
from inkless.records.encode import seal_batch
from support.broker_process import BrokerProcess, running_broker
from support.bystander import batch_of
from support.raw_client import RawClient, encoded_request, framed

MIB = 1024 * 1024


def test_large_requests_that_never_end_do_not_stop_others(broker: BrokerProcess) -> None:
    topic = "beside-half-requests"
    create_topic(broker.bootstrap, topic)
    before_bytes = broker.memory_bytes()
    with contextlib.ExitStack() as connections:
        for announced_mib in [90, 30, 20, 10, 8, 6, 4, 3, 2, *[1] * 50]:
            half = connections.enter_context(RawClient(broker.port))
            half.send(struct.pack(">i", announced_mib * MIB) + bytes(1000))
        honest = connections.enter_context(RawClient(broker.port))
        for number in range(8):
            answer = honest.produce(topic, 0, batch_of(bytes(900_000)))
            assert answer.base_offset == number
        # What requests may hold, and what the pool keeps for the next ones.
        assert broker.memory_bytes() < before_bytes + (128 + 64 + 32) * MIB


def test_a_request_that_fits_does_not_wait_behind_one_that_does_not(broker: BrokerProcess) -> None:
    topic = "beside-a-giant"
    create_topic(broker.bootstrap, topic, max_message_bytes=str(64 * MIB))
    with contextlib.ExitStack() as connections:
        slow, leaving, giant, honest = (
            connections.enter_context(RawClient(broker.port, timeout_s=60)) for _ in range(4)
        )
        slow.send(struct.pack(">i", 60 * MIB))
        leaving.send(struct.pack(">i", 30 * MIB) + bytes(10))
        giant.send(struct.pack(">i", 100 * MIB) + bytes(10))
        with ThreadPoolExecutor() as threads:
            produced = threads.submit(honest.produce, topic, 0, batch_of(bytes(38 * MIB)))
            wait([produced], timeout=1)
            leaving.close()
            while not produced.done():
                # Never silent for long enough to lose its memory.
                slow.send(b"\0")
                wait([produced], timeout=0.2)
        assert produced.result().error_code == ErrorCode.NONE


@pytest.mark.parametrize("client_count", [30, pytest.param(100, marks=pytest.mark.slow)])
def test_responses_that_nobody_reads_do_not_pile_up(broker: BrokerProcess, client_count: int) -> None:
    """A hundred take all there is; they must be closed before anybody else gets his turn."""
    topic = f"unread-{client_count}"
    create_topic(broker.bootstrap, topic)
    batch_count = 1000
    _fill(broker, topic, batch_count)
    before_bytes = broker.memory_bytes()
    with contextlib.ExitStack() as connections:
        # Together they ask for more than a gigabyte, each for a part that the others did not ask for.
        for offset in range(0, batch_count, batch_count // client_count):
            client = connections.enter_context(RawClient(broker.port))
            client.send(framed(encoded_request(_greedy_fetch(topic, offset), 12)) * 100)
        with RawClient(broker.port) as honest:
            fetched = honest.fetch(topic, 0, batch_count // 2)
            while not fetched.records:
                assert fetched.error_code == ErrorCode.NONE
                fetched = honest.fetch(topic, 0, batch_count // 2)
        assert broker.memory_bytes() < before_bytes + 350 * MIB


def _fill(broker: BrokerProcess, topic: str, batch_count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "batch.num.messages": 1, **QUIET})
    for _ in range(batch_count):
        producer.produce(topic, bytes(900_000))
    assert producer.flush(60) == 0


def _greedy_fetch(topic: str, offset: int) -> FetchRequest:
    partition = FetchPartition(0, fetch_offset=offset, partition_max_bytes=50 * MIB)
    return FetchRequest(max_bytes=50 * MIB, topics=[FetchTopic(topic, partitions=[partition])])


def test_metadata_that_nobody_reads_does_not_pile_up(broker: BrokerProcess) -> None:
    create_topic(broker.bootstrap, "wide", partitions=5000)
    before_bytes = broker.memory_bytes()
    with RawClient(broker.port) as client:
        client.send(framed(encoded_request(MetadataRequest(None), 12)) * 5000)
        with RawClient(broker.port) as honest:
            assert honest.call(MetadataRequest(()), 12).brokers
        assert broker.memory_bytes() < before_bytes + 100 * MIB


@pytest.mark.parametrize("codec", [Codec.ZSTD, Codec.GZIP, Codec.LZ4], ids=lambda codec: codec.name.lower())
def test_a_batch_that_grows_without_end_is_not_decompressed(tmp_path: Path, codec: Codec) -> None:
    """Searching by timestamp is the only reason for a broker to look inside a batch."""
    topic = "bomb"
    bomb = seal_batch(
        bytes(512 * MIB),
        record_count=1,
        last_offset_delta=0,
        base_timestamp_ms=1_700_000_000_000,
        max_timestamp_ms=1_700_000_000_000,
        codec=codec,
    )
    lookup = ListOffsetsRequest(
        replica_id=-1,
        topics=[ListOffsetsTopic(topic, [ListOffsetsPartition(0, timestamp=1_699_999_999_999)])],
    )
    with running_broker(tmp_path) as broker:
        create_topic(broker.bootstrap, topic, max_message_bytes=str(8 * MIB))
        with RawClient(broker.port) as client:
            assert client.produce(topic, 0, bomb).error_code == ErrorCode.NONE
            (answer,) = client.call(lookup, 7).topics[0].partitions
            assert answer.error_code == ErrorCode.CORRUPT_MESSAGE
        assert broker.memory_peak_bytes() < 450 * MIB


def test_connections_beyond_the_limit_are_refused_and_others_stay(tmp_path: Path) -> None:
    options = {"max.connections": "100"}
    with running_broker(tmp_path, options) as limited, contextlib.ExitStack() as connections:
        first = connections.enter_context(RawClient(limited.port))
        assert first.call(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
        files_before = limited.open_files()
        crowd = [connections.enter_context(RawClient(limited.port)) for _ in range(3000)]
        refused = crowd[-1]
        assert refused.is_closed_by_broker()
        assert limited.open_files() <= files_before + 100
        assert first.call(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
        for client in crowd:
            client.close()
        last = _connect_again(connections, limited.port)
        assert last.call(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE


def _connect_again(connections: contextlib.ExitStack, port: int) -> RawClient:
    """The broker notices one by one that the others are gone."""
    for _ in range(1000):
        client = connections.enter_context(RawClient(port))
        client.send(framed(encoded_request(ApiVersionsRequest(), 0)))
        if client.receive_frame() is not None:
            return client
        client.close()
    raise AssertionError("no connection is accepted any more")

"""Bytes that are no requests, or not quite: an error or the end of that connection, and nothing else (I8)."""

import random
import struct

import pytest

from clients.confluent_client import create_topic
from inkless.protocol.api_keys import ApiKey
from inkless.protocol.codec import decode_exactly
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    MetadataRequest,
    MetadataRequestTopic,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from inkless.records.header import CRC_AT
from support.broker_process import BrokerProcess
from support.bystander import batch_of
from support.raw_client import RawClient, encoded_request, framed

FRAME_BYTES_MAX = 100 * 1024 * 1024


@pytest.mark.parametrize("length", [-1, -(2**31), 0, FRAME_BYTES_MAX + 1, 2**31 - 1])
def test_a_length_that_no_request_has_closes_the_connection(broker: BrokerProcess, length: int) -> None:
    with RawClient(broker.port) as client:
        client.send(struct.pack(">i", length) + b"x" * 100)
        assert client.is_closed_by_broker()


@pytest.mark.parametrize("cut", [1, 3, 4, 5, 12, 20])
def test_a_request_that_ends_too_early_closes_the_connection(broker: BrokerProcess, cut: int) -> None:
    whole = framed(encoded_request(MetadataRequest(None), 12))
    with RawClient(broker.port) as client:
        client.send(whole[:cut])
        client.end_sending()
        assert client.receive_frame() is None


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_close_the_connection(broker: BrokerProcess, seed: int) -> None:
    with RawClient(broker.port) as client:
        client.send(framed(random.Random(seed).randbytes(1 + seed * 37)))
        client.end_sending()
        assert client.is_closed_by_broker()


@pytest.mark.parametrize("api_key", [-1, 999, 32767, ApiKey.CONTROLLED_SHUTDOWN, ApiKey.VOTE])
def test_an_api_that_is_not_served_closes_the_connection(broker: BrokerProcess, api_key: int) -> None:
    with RawClient(broker.port) as client:
        client.send(framed(struct.pack(">hhih", api_key, 0, 1, -1)))
        assert client.is_closed_by_broker()


@pytest.mark.parametrize("version", [-1, 99, 32767])
def test_a_version_that_is_not_served_closes_the_connection(broker: BrokerProcess, version: int) -> None:
    with RawClient(broker.port) as client:
        client.send(framed(struct.pack(">hhih", ApiKey.METADATA, version, 1, -1) + bytes(16)))
        assert client.is_closed_by_broker()


def test_a_newer_api_versions_request_is_told_what_is_served(broker: BrokerProcess) -> None:
    with RawClient(broker.port) as client:
        client.send(framed(struct.pack(">hhih", ApiKey.API_VERSIONS, 99, 7, -1) + b"\0from the future"))
        answer = client.receive_frame()
        assert answer is not None
        response = decode_exactly(ApiVersionsResponse, 0, memoryview(answer), 4)
        assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert ApiKey.API_VERSIONS in {each.api_key for each in response.api_keys}
        assert client.call(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE


@pytest.mark.parametrize("count", [2**31 - 1, 2**20, -2, -(2**31)])
def test_an_absurd_array_count_closes_the_connection(broker: BrokerProcess, count: int) -> None:
    start = struct.pack(">hhih", ApiKey.METADATA, 1, 1, -1)
    with RawClient(broker.port) as client:
        client.send(framed(start + struct.pack(">i", count)))
        assert client.is_closed_by_broker()


@pytest.mark.parametrize("count", [b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\xff\xff\x7f", b"\x80" * 30])
def test_an_absurd_compact_array_count_closes_the_connection(broker: BrokerProcess, count: bytes) -> None:
    start = struct.pack(">hhih", ApiKey.METADATA, 9, 1, -1) + b"\0"
    with RawClient(broker.port) as client:
        client.send(framed(start + count + bytes(8)))
        assert client.is_closed_by_broker()


def test_bytes_behind_a_request_are_ignored(broker: BrokerProcess) -> None:
    """librdkafka 2.16 sends such requests, and Kafka answers them."""
    with RawClient(broker.port) as client:
        client.send(framed(encoded_request(MetadataRequest(None), 12) + b"more"))
        assert client.receive_frame() is not None
        assert client.call(ApiVersionsRequest(), 0).api_keys


def test_garbage_after_a_request_closes_the_connection(broker: BrokerProcess) -> None:
    with RawClient(broker.port) as client:
        assert client.call(MetadataRequest(None), 12).brokers
        client.send(b"\xff" * 64)
        assert client.is_closed_by_broker()


def test_a_request_may_arrive_byte_by_byte(broker: BrokerProcess) -> None:
    with RawClient(broker.port) as client:
        for byte in framed(encoded_request(MetadataRequest(None), 12, correlation_id=5)):
            client.send(bytes([byte]))
        answer = client.receive_frame()
        assert answer is not None
        assert struct.unpack_from(">i", answer) == (5,)


def test_many_requests_in_one_write_are_answered_in_order(broker: BrokerProcess) -> None:
    count = 3000
    with RawClient(broker.port) as client:
        client.send(
            b"".join(
                framed(encoded_request(MetadataRequest(()), 12, correlation_id=number))
                for number in range(count)
            )
        )
        answers = [client.receive_frame() for _ in range(count)]
    assert [struct.unpack_from(">i", answer or b"")[0] for answer in answers] == list(range(count))


@pytest.mark.parametrize("version", range(10, 14))
def test_metadata_of_an_unknown_topic_id_is_an_error_in_every_version(
    broker: BrokerProcess, version: int
) -> None:
    with RawClient(broker.port) as client:
        request = MetadataRequest([MetadataRequestTopic(b"no such topic id", None)])
        (topic,) = client.call(request, version).topics
    assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_wrong_checksum_fails_its_partition_only(broker: BrokerProcess) -> None:
    topic = "checksums"
    create_topic(broker.bootstrap, topic, partitions=3)
    spoiled = bytearray(batch_of(b"spoiled"))
    spoiled[CRC_AT] ^= 0xFF
    contents = [batch_of(b"before"), bytes(spoiled), batch_of(b"after")]
    request = ProduceRequest(
        None,
        -1,
        10_000,
        [
            TopicProduceData(
                topic,
                partition_data=[
                    PartitionProduceData(index, memoryview(content)) for index, content in enumerate(contents)
                ],
            )
        ],
    )
    with RawClient(broker.port) as client:
        partitions = client.call(request, 9).responses[0].partition_responses
        errors = [each.error_code for each in partitions]
        assert errors == [ErrorCode.NONE, ErrorCode.CORRUPT_MESSAGE, ErrorCode.NONE]
        assert [client.fetch(topic, index, 0).high_watermark for index in range(3)] == [1, 0, 1]


@pytest.mark.parametrize("cut", [0, 1, 11, 12, 60, 61, 62])
def test_a_cut_off_batch_fails_its_partition(broker: BrokerProcess, cut: int) -> None:
    with RawClient(broker.port) as client:
        answer = client.produce("bystander", 0, batch_of(b"a value")[:cut])
        assert answer.error_code in {ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD}

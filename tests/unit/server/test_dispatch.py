"""From bytes to a handler and back: what is served, what is refused, and in which version."""

import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.codec import decode_exactly, decode_response_header, encoder, request_header
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.errors import MalformedBytes
from inkless.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ListOffsetsRequest,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from inkless.protocol.schema import message_schema
from inkless.server.api_table import API_TABLE
from inkless.server.connection import Hold
from inkless.server.dispatch import RequestDispatcher
from inkless.server.exchange import Exchange
from inkless.server.receiving import Frame
from support.data_path_broker import DataPathBroker, batch_of, data_path_broker

CORRELATION_ID = 77
SOFTWARE = ApiVersionsRequest(client_software_name="test", client_software_version="1")


class RecordingConnection:
    """Remembers what a dispatcher does with a connection."""

    listener = "PLAINTEXT"
    peer_host = "127.0.0.1"

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.in_turn: list[tuple[Exchange, Any]] = []
        self.holds = Hold(0)

    def expect(self, exchange: Exchange) -> None:
        self.exchanges.append(exchange)

    def answered(self) -> None:
        pass

    def run_in_turn(self, exchange: Exchange, coroutine: Any) -> None:
        self.in_turn.append((exchange, coroutine))

    def hold(self, reason: Hold) -> None:
        self.holds |= reason

    def release(self, reason: Hold) -> None:
        self.holds &= ~reason

    async def finish(self) -> None:
        for exchange, coroutine in self.in_turn:
            exchange.reply(await coroutine)


class Dispatched:
    """A dispatcher with one connection."""

    def __init__(self, broker: DataPathBroker) -> None:
        self.dispatcher = RequestDispatcher(broker.context)
        self.connection = RecordingConnection()

    def send(self, frame: bytes) -> None:
        view = memoryview(bytearray(frame))
        self.dispatcher.dispatch(self.connection, Frame(view, is_owned=True))  # type: ignore[arg-type]  # stands in

    def response(self, response_class: type[Any], version: int, place: int = -1) -> Any:
        buffers = self.connection.exchanges[place].response
        assert buffers is not None
        whole = memoryview(b"".join(buffers))
        assert struct.unpack(">i", whole[:4])[0] == len(whole) - 4
        api_key = message_schema(response_class).api_key
        correlation_id, position = decode_response_header(whole, 4, api_key, version)
        assert correlation_id == CORRELATION_ID
        return decode_exactly(response_class, version, whole, position)


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[DataPathBroker]:
    async with data_path_broker(
        tmp_path,
        overrides={
            "inkless.produce.memory.max.bytes": str(1 << 20),
            "inkless.produce.buffer.max.bytes": str(1 << 20),
        },
    ) as made:
        yield made


@pytest.fixture
def dispatched(broker: DataPathBroker) -> Dispatched:
    return Dispatched(broker)


def framed(request: Any, version: int) -> bytes:
    frame = bytearray(header(message_schema(type(request)).api_key, version))
    encoder(type(request), version)(request, frame)
    return bytes(frame)


def header(api_key: int, version: int) -> bytes:
    return request_header(api_key, version, correlation_id=CORRELATION_ID, client_id="test")


def plain_header(api_key: int, version: int) -> bytes:
    """For APIs of which nobody knows whether they are flexible."""
    return struct.pack(">hhih", api_key, version, CORRELATION_ID, -1)


@pytest.mark.parametrize("version", range(5))
async def test_api_versions_lists_exactly_what_is_served(dispatched: Dispatched, version: int) -> None:
    dispatched.send(framed(SOFTWARE, version))
    response = dispatched.response(ApiVersionsResponse, version)
    assert response.error_code == ErrorCode.NONE
    assert {each.api_key: (each.min_version, each.max_version) for each in response.api_keys} == {
        key: (api.version_min, api.version_max) for key, api in API_TABLE.items()
    }


@pytest.mark.parametrize("version", [5, 99, 32767, -1])
async def test_api_versions_beyond_ours_is_answered_in_version_0(
    dispatched: Dispatched, version: int
) -> None:
    dispatched.send(header(ApiKey.API_VERSIONS, version) + b"whatever the future holds")
    response = dispatched.response(ApiVersionsResponse, 0)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert len(response.api_keys) == len(API_TABLE)


@pytest.mark.parametrize(("name", "software_version"), [("", "1"), ("test", ""), ("-x", "1"), ("a b", "1")])
async def test_api_versions_refuses_a_nameless_client(
    dispatched: Dispatched, name: str, software_version: str
) -> None:
    dispatched.send(framed(ApiVersionsRequest(name, software_version), 3))
    assert dispatched.response(ApiVersionsResponse, 3).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("api_key", "version"),
    [(999, 0), (-1, 0), (ApiKey.PRODUCE, 99), (ApiKey.PRODUCE, -1), (ApiKey.FETCH, 3), (ApiKey.METADATA, 14)],
)
async def test_what_is_not_served_closes_the_connection(
    dispatched: Dispatched, api_key: int, version: int
) -> None:
    with pytest.raises(MalformedBytes):
        dispatched.send(plain_header(api_key, version) + bytes(20))
    assert dispatched.connection.exchanges == []
    assert dispatched.dispatcher.malformed_count == 1


@pytest.mark.parametrize("kept", [0, 1, 7, 9, 12, 20])
async def test_a_request_that_ends_early_closes_the_connection(dispatched: Dispatched, kept: int) -> None:
    topics = [MetadataRequestTopic(name="a-topic")]
    with pytest.raises(MalformedBytes):
        dispatched.send(framed(MetadataRequest(topics=topics), 9)[:kept])
    assert dispatched.connection.exchanges == []


async def test_bytes_behind_a_request_are_ignored(dispatched: Dispatched) -> None:
    dispatched.send(framed(MetadataRequest(topics=[]), 9) + b"left over")
    await dispatched.connection.finish()
    assert dispatched.response(MetadataResponse, 9).topics == []


async def test_requests_that_wait_run_in_their_connection_s_turn(dispatched: Dispatched) -> None:
    dispatched.send(framed(MetadataRequest(topics=[]), 9))
    dispatched.send(framed(ListOffsetsRequest(), 7))
    assert [exchange.api_name for exchange, _ in dispatched.connection.in_turn] == [
        "METADATA",
        "LIST_OFFSETS",
    ]
    assert [exchange.response for exchange in dispatched.connection.exchanges] == [None, None]
    await dispatched.connection.finish()


async def test_requests_are_counted_by_api(dispatched: Dispatched) -> None:
    for version in (0, 3, 3):
        dispatched.send(framed(SOFTWARE, version))
    assert dispatched.dispatcher.request_counts == {"API_VERSIONS": 3}


@pytest.mark.parametrize("version", [4, 11, 12, 18])
async def test_a_fetch_response_in_many_buffers_is_one_frame(
    broker: DataPathBroker, dispatched: Dispatched, version: int
) -> None:
    entry = await broker.create("orders")
    await broker.produce_to(entry, 0, batch_of(1, 2))
    position = FetchPartition(0, partition_max_bytes=1 << 20)
    topic = FetchTopic("orders", entry.topic.topic_id, [position])
    dispatched.send(framed(FetchRequest(topics=[topic]), version))
    await dispatched.connection.finish()
    response = dispatched.response(FetchResponse, version)
    (answer,) = response.responses[0].partitions
    assert (answer.error_code, answer.high_watermark) == (ErrorCode.NONE, 2)


async def test_a_saturated_writer_holds_the_connection_until_it_is_drained(
    broker: DataPathBroker, dispatched: Dispatched
) -> None:
    await broker.create("orders", max_message_bytes=str(2 << 20))
    batch = batch_of(1, value=bytes(1 << 20))
    topic = TopicProduceData("orders", partition_data=[PartitionProduceData(0, memoryview(batch))])
    dispatched.send(framed(ProduceRequest(acks=-1, topic_data=[topic]), 9))
    assert dispatched.connection.holds == Hold.PRODUCE
    await broker.flush()
    assert dispatched.connection.holds == Hold(0)
    assert dispatched.connection.exchanges[0].response is not None

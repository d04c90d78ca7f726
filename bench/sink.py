"""The limit: a server that reads and acknowledges without checking, storing or ordering anything.

It shares the broker's sockets and codecs, so what it leaves of a client's speed is what Python and the kernel
leave; the rest of the way to the broker's figure is what diskless storage costs.
"""

import asyncio
import functools
import signal
from collections import defaultdict

from inkless.buffers import BufferPool
from inkless.clock import SystemClock
from inkless.protocol.api_keys import ApiKey
from inkless.protocol.codec import chunked_encoder, decode_request_header, decoder, encoder, response_header
from inkless.protocol.messages import (
    ApiVersion,
    ApiVersionsResponse,
    CreatableTopicResult,
    CreateTopicsResponse,
    FetchableTopicResponse,
    FetchResponse,
    FindCoordinatorResponse,
    InitProducerIdResponse,
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
    PartitionData,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from inkless.protocol.registry import APIS
from inkless.records.header import LENGTH_PREFIX_BYTES, read_header
from inkless.server.connection import Connection
from inkless.server.exchange import Exchange, Route
from inkless.server.listener import Listeners, bind
from inkless.server.receiving import Frame
from inkless.settings import Settings

_TOPIC_ID = bytes(15) + b"\x01"
_BATCHES_KEPT = 32


class Sink:
    """Answers every request at once. It keeps a few batches, to have something to serve."""

    memory_is_short = False

    def __init__(self, partition_count: int) -> None:
        self.port = 0
        self._partition_count = partition_count
        self._kept: dict[int, list[memoryview]] = defaultdict(list)
        self._next_offset: dict[int, int] = defaultdict(int)
        self._answers = {
            ApiKey.PRODUCE: self._produce,
            ApiKey.FETCH: self._fetch,
            ApiKey.METADATA: self._metadata,
            ApiKey.API_VERSIONS: self._api_versions,
            ApiKey.LIST_OFFSETS: self._list_offsets,
            ApiKey.INIT_PRODUCER_ID: lambda _: InitProducerIdResponse(producer_id=1, producer_epoch=0),
            ApiKey.FIND_COORDINATOR: lambda _: FindCoordinatorResponse(host="127.0.0.1", port=self.port),
            ApiKey.CREATE_TOPICS: lambda request: CreateTopicsResponse(
                topics=[CreatableTopicResult(name=topic.name) for topic in request.topics]
            ),
        }

    def dispatch(self, connection: Connection, frame: Frame) -> None:
        header = decode_request_header(frame.view, 0)
        api = APIS[ApiKey(header.api_key)]
        version = header.api_version
        request, _ = decoder(api.request_class, version)(frame.view, header.pos)
        route = Route(
            api.key.name, lambda *_: None, functools.partial(self._encode, api, version), lambda *_: None
        )
        exchange = Exchange(route, header, connection, True)
        connection.expect(exchange)
        exchange.reply(self._answers[api.key](request))

    def _encode(self, api, version, correlation_id, message):
        head = response_header(api.key, version, correlation_id)
        if api.response_class is FetchResponse:
            chunks = chunked_encoder(FetchResponse, version)(message)
            return [(len(head) + sum(map(len, chunks))).to_bytes(4, "big") + head, *chunks]
        body = bytearray(head)
        encoder(api.response_class, version)(message, body)
        return [len(body).to_bytes(4, "big") + body]

    def _produce(self, request):
        topics = []
        for topic in request.topic_data:
            partitions = []
            for data in topic.partition_data:
                offset = self._next_offset[data.index]
                self._next_offset[data.index] = self._keep(data.index, data.records, offset)
                partitions.append(PartitionProduceResponse(data.index, 0, offset))
            topics.append(TopicProduceResponse(topic.name, topic.topic_id, partitions))
        return ProduceResponse(topics)

    def _keep(self, index, records, offset):
        header = read_header(records, 0)
        kept = self._kept[index]
        if len(kept) < _BATCHES_KEPT:
            batch = memoryview(bytearray(records))
            batch[:8] = offset.to_bytes(8, "big")
            kept.append(batch)
        return offset + header.last_offset_delta + 1

    def _fetch(self, request):
        """The kept batches over and over, with offsets that go on."""
        topics = []
        for topic in request.topics:
            partitions = []
            for wanted in topic.partitions:
                records, left, offset = [], wanted.partition_max_bytes, wanted.fetch_offset
                while left > 0 and self._kept[wanted.partition]:
                    for batch in self._kept[wanted.partition]:
                        header = read_header(batch, 0)
                        records += [offset.to_bytes(8, "big"), batch[8:]]
                        offset += header.last_offset_delta + 1
                        left -= header.batch_length + LENGTH_PREFIX_BYTES
                        if left <= 0:
                            break
                partitions.append(
                    PartitionData(
                        wanted.partition, 0, 1 << 60, 1 << 60, 0, aborted_transactions=None, records=records
                    )
                )
            topics.append(FetchableTopicResponse(topic.topic, topic.topic_id, partitions))
        return FetchResponse(responses=topics)

    def _metadata(self, request):
        partitions = [MetadataResponsePartition(0, i, 0, 0, [0], [0]) for i in range(self._partition_count)]
        names = [topic.name for topic in request.topics or ()]
        return MetadataResponse(
            brokers=[MetadataResponseBroker(0, "127.0.0.1", self.port)],
            cluster_id="sink",
            controller_id=0,
            topics=[MetadataResponseTopic(0, name, _TOPIC_ID, False, partitions) for name in names],
        )

    def _api_versions(self, _):
        served = [APIS[key] for key in self._answers]
        # Without sessions and topic ids every fetch names its partitions, which keeps the sink simple.
        return ApiVersionsResponse(
            api_keys=[
                ApiVersion(api.key, api.versions.first, 6 if api.key == ApiKey.FETCH else api.versions.last)
                for api in served
            ]
        )

    def _list_offsets(self, request):
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    topic.name,
                    [ListOffsetsPartitionResponse(p.partition_index, 0, -1, 0, 0) for p in topic.partitions],
                )
                for topic in request.topics
            ]
        )


async def serve_sink(settings: Settings) -> None:
    sink = Sink(settings.server.partitions_default)
    listeners = Listeners(
        settings.server, dispatcher=sink, pool=BufferPool(idle_bytes_max=64 << 20), clock=SystemClock()
    )
    bound = bind(settings.server.listeners[0])
    sink.port = bound.address.port
    await listeners.start([bound])
    print("ready", f"127.0.0.1:{sink.port}", flush=True)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    await listeners.close()

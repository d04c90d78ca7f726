"""A broker for the handlers of the data path: every part real, the store in memory and breakable."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inkless.buffers import BufferPool
from inkless.clock import Clock, SystemClock
from inkless.cluster.directory import TopicEntry
from inkless.fetch.cache import ObjectCache
from inkless.fetch.fetcher import Fetcher
from inkless.fetch.parking import ParkingLot
from inkless.fetch.reader import RunReader
from inkless.fetch.sessions import FetchSessions
from inkless.fetch.tail import Tail
from inkless.fetch.timestamps import TimestampSearch
from inkless.produce.writer import Writer
from inkless.protocol.codec import RequestHeader, decode_exactly, encoder
from inkless.protocol.messages import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionData,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from inkless.protocol.schema import message_schema
from inkless.records.encode import encode_batch
from inkless.records.record import Record
from inkless.server.exchange import Exchange, Route
from inkless.server.handlers.produce import handle_produce
from inkless.storage.memory import MemoryStore
from inkless.testing.faults import FaultyStore, SeededEntropy
from support.handler_broker import Caller, HandlerBroker, handler_broker

_UNUSED: Any = None
BYTES_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class DataPathBroker(HandlerBroker):
    store: FaultyStore
    stored: MemoryStore
    cache: ObjectCache

    async def produce(
        self,
        request: ProduceRequest,
        *,
        version: int | None = None,
        frame_is_owned: bool = True,
        caller: Caller | None = None,
    ) -> ProduceResponse | None:
        """The response, as a client of that version reads it; None when there is none, by the client's wish.

        Where the frame is not owned its bytes are overwritten as soon as the handler has returned.
        """
        version = message_schema(ProduceRequest).versions.last if version is None else version
        answer: asyncio.Future[bytearray] = asyncio.get_running_loop().create_future()

        def encode(_: int, message: ProduceResponse) -> list[bytes | bytearray | memoryview]:
            answer.set_result(encoded(message, version))
            return [b""]

        route = Route("PRODUCE", decode=_UNUSED, encode=encode, handler=_UNUSED)
        header = RequestHeader(0, version, 1, "test", 0)
        caller = caller or Caller("PLAINTEXT")
        exchange = Exchange(route, header, caller, frame_is_owned)
        frame = encoded(request, version)
        handle_produce(self.context, exchange, decode_exactly(ProduceRequest, version, memoryview(frame)))
        if not frame_is_owned:
            frame[:] = b"\xff" * len(frame)
        if exchange.response == []:
            return None
        return decode_exactly(ProduceResponse, version, memoryview(await answer))

    async def produce_to(
        self, entry: TopicEntry, index: int, *batches: bytes, version: int = 9
    ) -> PartitionProduceResponse:
        """The outcome for one partition."""
        data = PartitionProduceData(index, memoryview(b"".join(batches)))
        topic = TopicProduceData(entry.topic.name, entry.topic.topic_id, [data])
        response = await self.produce(ProduceRequest(acks=-1, topic_data=[topic]), version=version)
        assert response is not None
        return response.responses[0].partition_responses[0]

    async def fetch_from(
        self, entry: TopicEntry, index: int, offset: int, *, version: int = 12, bytes_max: int = BYTES_MAX
    ) -> PartitionData:
        """What one partition has from an offset on, without waiting."""
        position = FetchPartition(index, fetch_offset=offset, partition_max_bytes=bytes_max)
        topic = FetchTopic(entry.topic.name, entry.topic.topic_id, [position])
        response = await self.ask(FetchRequest(max_bytes=bytes_max, topics=[topic]), version=version)
        answer: PartitionData = response.responses[0].partitions[0]
        return answer

    async def flush(self) -> None:
        """Closes the object that is being filled and waits until it is committed."""
        await self.context.writer.flush()

    def forget_objects(self) -> None:
        """Makes the next read of everything a read from the store."""
        for key in list(self.stored._objects):
            self.cache.forget(key)

    def damage_objects(self) -> None:
        """Turns the last byte of every stored object."""
        for key, (content, modified_ms) in self.stored._objects.items():
            self.stored._objects[key] = (content[:-1] + bytes([content[-1] ^ 1]), modified_ms)


def batch_of(*timestamps_ms: int, value: bytes = b"value") -> bytes:
    """A batch with one record for each timestamp."""
    return encode_batch(
        [Record(delta, timestamp_ms, None, value) for delta, timestamp_ms in enumerate(timestamps_ms)]
    )


def encoded(message: object, version: int) -> bytearray:
    target = bytearray()
    encoder(type(message), version)(message, target)
    return target


def records_of(answer: PartitionData) -> bytes:
    buffers: Any = answer.records
    if buffers is None:
        return b""
    return bytes(buffers) if isinstance(buffers, memoryview) else b"".join(buffers)


@asynccontextmanager
async def data_path_broker(
    folder: Path, *, overrides: Mapping[str, str] | None = None, clock: Clock | None = None
) -> AsyncIterator[DataPathBroker]:
    fast = {"inkless.produce.settle.ms": "0", "inkless.produce.linger.ms": "1"}
    async with handler_broker(folder, overrides={**fast, **(overrides or {})}) as bare:
        clock = clock or SystemClock()
        settings = bare.parts.settings
        stored = MemoryStore(clock)
        store = FaultyStore(stored, clock=clock, entropy=SeededEntropy(1))
        pool = BufferPool(idle_bytes_max=1 << 20)
        cache = ObjectCache(bytes_max=1 << 24, written_share=0.5)
        parking = ParkingLot()
        control_plane = bare.parts.control_plane
        reader = RunReader(settings.fetch, store=store, cache=cache, pool=pool, clock=clock)
        writer = Writer(
            settings.produce,
            broker_id=0,
            store=store,
            coordinator=control_plane,
            listener=Tail(cache, parking),
            pool=pool,
            clock=clock,
            entropy=bare.context.entropy,
        )
        context = replace(
            bare.context,
            writer=writer,
            reader=reader,
            fetcher=Fetcher(
                settings.fetch, coordinator=control_plane, reader=reader, parking=parking, clock=clock
            ),
            fetch_sessions=FetchSessions(sessions_max=settings.fetch.sessions_max),
            timestamp_search=TimestampSearch(control_plane, reader),
            clock=clock,
        )
        yield DataPathBroker(context, bare.parts, store, stored, cache)
        await writer.stop()

"""A client that costs as little as possible: requests are encoded once and sent over and over.

Run as a process: `python -m bench.raw_client produce|fetch PORT …` prints one line of JSON.
"""

import argparse
import asyncio
import json
import time

import uvloop

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.codec import encoder, request_header
from inkless.protocol.messages import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from inkless.records.encode import encode_batch
from inkless.records.record import Record

_PRODUCE_VERSION = 9
_FETCH_VERSION = 11


def frame(api_key: ApiKey, version: int, message: object) -> bytes:
    body = bytearray(request_header(api_key, version, correlation_id=1, client_id="bench"))
    encoder(type(message), version)(message, body)
    return len(body).to_bytes(4, "big") + bytes(body)


def produce_frame(topic: str, partitions: int, batch_bytes: int, record_bytes: int) -> bytes:
    now_ms = int(time.time() * 1000)
    value = bytes(record_bytes)
    count = max(1, batch_bytes // (record_bytes + 10))
    batch = encode_batch([Record(i, now_ms, None, value, ()) for i in range(count)])
    data = [PartitionProduceData(index, memoryview(batch)) for index in range(partitions)]
    return frame(
        ApiKey.PRODUCE,
        _PRODUCE_VERSION,
        ProduceRequest(None, -1, 30_000, [TopicProduceData(topic, partition_data=data)]),
    )


class Pipeline(asyncio.BufferedProtocol):
    """Keeps `in_flight` requests under way and counts responses by their length prefixes alone."""

    def __init__(self, request: bytes, *, in_flight: int, seconds: float) -> None:
        self._request = request
        self._in_flight = in_flight
        self._seconds = seconds
        self._buffer = bytearray(4 << 20)
        self._filled = 0
        self._skip = 0
        self._sent_at: list[float] = []
        self.latencies_s: list[float] = []
        self.responses = 0
        self.response_bytes = 0
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport) -> None:
        self._transport = transport
        transport.set_write_buffer_limits(high=1 << 30)
        self.started_at = time.perf_counter()
        self._stop_at = self.started_at + self._seconds
        self._outstanding = 0
        self._send(self._in_flight)

    def _send(self, count: int) -> None:
        self._outstanding += count
        now = time.perf_counter()
        self._sent_at += [now] * count
        self._transport.writelines([self._request] * count)

    def get_buffer(self, sizehint):
        return memoryview(self._buffer)[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        end = self._filled + nbytes
        self.response_bytes += nbytes
        position = min(self._skip, end)
        self._skip -= position
        answered = 0
        if self._skip == 0 and position:
            answered += self._partial
            self._partial = 0
        while end - position >= 4:
            length = 4 + int.from_bytes(self._buffer[position : position + 4], "big")
            if position + length <= end:
                answered += 1
                position += length
            else:
                self._skip = position + length - end
                self._partial = 1
                position = end
        self._buffer[: end - position] = self._buffer[position:end]
        self._filled = end - position
        self._answered(answered)

    _partial = 0

    def _answered(self, count: int) -> None:
        now = time.perf_counter()
        self.responses += count
        self._outstanding -= count
        self.latencies_s += [now - sent_at for sent_at in self._sent_at[:count]]
        del self._sent_at[:count]
        if now < self._stop_at:
            if count:
                self._send(count)
        elif self._outstanding == 0 and not self.done.done():
            self.elapsed_s = now - self.started_at
            self.done.set_result(None)
            self._transport.close()

    def connection_lost(self, exc) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("the server closed the connection"))


async def run(
    port: int, request: bytes, *, in_flight: int, seconds: float, connections: int
) -> dict[str, float]:
    loop = asyncio.get_running_loop()
    pipelines = []
    for _ in range(connections):
        _, pipeline = await loop.create_connection(
            lambda: Pipeline(request, in_flight=in_flight, seconds=seconds), "127.0.0.1", port
        )
        pipelines.append(pipeline)
    await asyncio.gather(*(pipeline.done for pipeline in pipelines))
    latencies = sorted(latency for pipeline in pipelines for latency in pipeline.latencies_s)
    elapsed = max(pipeline.elapsed_s for pipeline in pipelines)
    responses = sum(pipeline.responses for pipeline in pipelines)
    return {
        "requests_per_s": responses / elapsed,
        "sent_mib": responses * len(request) / 2**20,
        "received_mib": sum(pipeline.response_bytes for pipeline in pipelines) / 2**20,
        "elapsed_s": elapsed,
        "p50_ms": latencies[len(latencies) // 2] * 1000,
        "p99_ms": latencies[int(len(latencies) * 0.99)] * 1000,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["produce", "fetch"])
    parser.add_argument("port", type=int)
    parser.add_argument("--topic", default="bench")
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--batch-bytes", type=int, default=1 << 20)
    parser.add_argument("--record-bytes", type=int, default=1000)
    parser.add_argument("--in-flight", type=int, default=8)
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5)
    args = parser.parse_args()
    if args.verb == "produce":
        request = produce_frame(args.topic, args.partitions, args.batch_bytes, args.record_bytes)
    else:
        wanted = [
            FetchPartition(i, fetch_offset=0, partition_max_bytes=args.batch_bytes)
            for i in range(args.partitions)
        ]
        message = FetchRequest(
            max_wait_ms=500, min_bytes=1, topics=[FetchTopic(args.topic, partitions=wanted)]
        )
        request = frame(ApiKey.FETCH, _FETCH_VERSION, message)
    result = uvloop.run(
        run(args.port, request, in_flight=args.in_flight, seconds=args.seconds, connections=args.connections)
    )
    print(json.dumps(result))


if __name__ == "__main__":
    main()

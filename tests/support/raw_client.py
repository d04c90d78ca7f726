"""A client that sends what it is told to, well-formed or not, and shows what comes back."""

import itertools
import socket
import struct
from types import TracebackType
from typing import Any, Self

from inkless.protocol.codec import decode_exactly, decode_response_header, encoder, request_header
from inkless.protocol.messages import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionData,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from inkless.protocol.registry import APIS
from inkless.protocol.schema import message_schema

TIMEOUT_SECONDS = 20.0
_LENGTH = struct.Struct(">i")


def framed(payload: bytes) -> bytes:
    """The payload with its length before it."""
    return _LENGTH.pack(len(payload)) + payload


def encoded_request(message: Any, version: int, *, correlation_id: int = 0) -> bytes:
    """A request with its header, without the length."""
    payload = bytearray(
        request_header(
            message_schema(type(message)).api_key, version, correlation_id=correlation_id, client_id="raw"
        )
    )
    encoder(type(message), version)(message, payload)
    return bytes(payload)


class RawClient:
    """One connection."""

    def __init__(self, port: int, *, timeout_s: float = TIMEOUT_SECONDS) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._correlation_ids = itertools.count(1)

    def send(self, data: bytes) -> None:
        """Bytes as they are."""
        self._socket.sendall(data)

    def end_sending(self) -> None:
        """Half-closes: the broker sees the end of the stream and can still answer."""
        self._socket.shutdown(socket.SHUT_WR)

    def receive_frame(self) -> bytes | None:
        """The next response without its length; None when the broker has closed the connection."""
        prefix = self._receive_exactly(_LENGTH.size)
        if prefix is None:
            return None
        return self._receive_exactly(_LENGTH.unpack(prefix)[0])

    def is_closed_by_broker(self) -> bool:
        """Waits for the close; what arrives before it is thrown away. Raises TimeoutError without one."""
        while self.receive_frame() is not None:
            pass
        return True

    def call(self, message: Any, version: int) -> Any:
        """Sends a request and gives its decoded response."""
        correlation_id = next(self._correlation_ids)
        self.send(framed(encoded_request(message, version, correlation_id=correlation_id)))
        answer = self.receive_frame()
        assert answer is not None, f"the broker closed the connection after {message}"
        api = APIS[message_schema(type(message)).api_key]
        view = memoryview(answer)
        answered_id, pos = decode_response_header(view, 0, api.key, version)
        assert answered_id == correlation_id
        return decode_exactly(api.response_class, version, view, pos)

    def produce(
        self, topic: str, partition: int, batch: bytes, *, acks: int = -1
    ) -> PartitionProduceResponse:
        """One batch into one partition, in version 9."""
        request = ProduceRequest(
            None,
            acks,
            10_000,
            [TopicProduceData(topic, partition_data=[PartitionProduceData(partition, memoryview(batch))])],
        )
        response: PartitionProduceResponse = self.call(request, 9).responses[0].partition_responses[0]
        return response

    def fetch(self, topic: str, partition: int, offset: int, *, max_wait_ms: int = 0) -> PartitionData:
        """What lies at an offset, in version 12."""
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            topics=[
                FetchTopic(
                    topic,
                    partitions=[
                        FetchPartition(partition, fetch_offset=offset, partition_max_bytes=8 * 1024 * 1024)
                    ],
                )
            ],
        )
        data: PartitionData = self.call(request, 12).responses[0].partitions[0]
        return data

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _receive_exactly(self, byte_count: int) -> bytes | None:
        received = bytearray()
        while len(received) < byte_count:
            try:
                part = self._socket.recv(min(byte_count - len(received), 1 << 20))
            except (ConnectionResetError, BrokenPipeError):
                return None
            if not part:
                return None
            received += part
        return bytes(received)

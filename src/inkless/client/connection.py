"""One connection to one broker: requests go out as they come, answers are matched by correlation id."""

import asyncio
import logging
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self, TypeVar

from inkless.client.answers import check
from inkless.client.topology import Address
from inkless.clock import TaskOwner
from inkless.errors import MalformedBytes, RequestError, Unavailable
from inkless.protocol.api_keys import ApiKey
from inkless.protocol.codec import decode_response_header, decoder, encoder, request_header
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import ApiVersionsRequest, ApiVersionsResponse
from inkless.protocol.schema import message_schema

log = logging.getLogger(__name__)

Response = TypeVar("Response")

_LENGTH: Final = struct.Struct(">i")
_ERROR_CODE: Final = struct.Struct(">h")
_CORRELATION_ID_MAX: Final = 2**31 - 1
_API_VERSIONS_FIRST_TRY: Final = 3
_READ_BUFFER_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """How one connection behaves."""

    client_id: str = "inkless"
    connect_timeout_ms: int = 10_000
    request_timeout_ms: int = 30_000
    in_flight_max: int = 32
    response_bytes_max: int = 256 << 20


class _Pending(NamedTuple):
    answer: "asyncio.Future[memoryview]"
    timer: asyncio.TimerHandle


class _Call(NamedTuple):
    """What is needed to read the answer to a request that was sent."""

    api_key: ApiKey
    version: int
    answer: "asyncio.Future[memoryview]"


class Connection:
    """Made by `open`, which also learns what the broker speaks. Not to be used after it `is_closed`."""

    def __init__(
        self,
        address: Address,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        settings: ConnectionSettings,
    ) -> None:
        self.address = address
        self._reader = reader
        self._writer = writer
        self._settings = settings
        self._tasks = TaskOwner(f"connection to {address}", tasks_max=1)
        self._slots = asyncio.Semaphore(settings.in_flight_max)
        self._pending: dict[int, _Pending] = {}
        self._correlation_id = 0
        self._served: dict[int, tuple[int, int]] = {}
        self._closed_because: str | None = None

    @classmethod
    async def open(cls, address: Address, settings: ConnectionSettings | None = None) -> Self:
        """Connects and asks for the broker's versions; Unavailable when there is no broker to talk to."""
        settings = settings or ConnectionSettings()
        timeout_s = settings.connect_timeout_ms / 1000
        try:
            async with asyncio.timeout(timeout_s):
                reader, writer = await asyncio.open_connection(
                    address.host, address.port, limit=_READ_BUFFER_BYTES
                )
        except TimeoutError as error:
            raise Unavailable(
                f"no connection to {address} within {timeout_s:g} s; check host, port and firewall"
            ) from error
        except OSError as error:
            raise Unavailable(
                f"no connection to {address} ({error.strerror or error}); is a broker listening there?"
            ) from error
        connection = cls(address, reader, writer, settings)
        connection._tasks.spawn(connection._read_answers())
        try:
            await connection._learn_versions()
        except BaseException:
            await connection.close()
            raise
        return connection

    @property
    def is_closed(self) -> bool:
        return self._closed_because is not None

    @property
    def has_free_slot(self) -> bool:
        """Whether a request would be sent at once."""
        return not self._slots.locked()

    def choose_version(self, request_class: type[Any], *, version_max: int | None = None) -> int:
        """The highest version that both sides speak, and that is not above `version_max`."""
        schema = message_schema(request_class)
        served_first, served_last = self._served.get(schema.api_key, (0, -1))
        highest = min(schema.versions.last, served_last)
        if version_max is not None:
            highest = min(highest, version_max)
        if highest < max(schema.versions.first, served_first):
            raise RequestError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"the broker at {self.address} speaks {schema.api_key.name} {served_first} to {served_last}, "
                f"this client {schema.versions.first} to {schema.versions.last}",
            )
        return highest

    async def request(
        self,
        message: object,
        response_class: type[Response],
        *,
        version: int | None = None,
        version_max: int | None = None,
    ) -> Response:
        """Sends a request and waits for its answer."""
        return await (await self.submit(message, response_class, version=version, version_max=version_max))

    async def submit(
        self,
        message: object,
        response_class: type[Response],
        *,
        version: int | None = None,
        version_max: int | None = None,
    ) -> "asyncio.Future[Response]":
        """Sends a request, as soon as there is a slot, and returns the future of its answer.

        Requests leave in the order of the calls, which is what keeps a producer's batches in order.
        """
        if version is None:
            version = self.choose_version(type(message), version_max=version_max)
        call = await self._send(message, version)
        decoded: asyncio.Future[Response] = asyncio.get_running_loop().create_future()

        def decode(answer: "asyncio.Future[memoryview]") -> None:
            try:
                response = self._decode(call, response_class, answer.result())
            except asyncio.CancelledError:
                decoded.cancel()
            except Unavailable as error:
                if not decoded.done():
                    decoded.set_exception(error)
            else:
                if not decoded.done():
                    decoded.set_result(response)

        call.answer.add_done_callback(decode)
        return decoded

    async def send_unanswered(self, message: object, *, version_max: int | None = None) -> None:
        """Sends a request that gets no answer: Produce with acks 0."""
        version = self.choose_version(type(message), version_max=version_max)
        self._write(message, version, self._next_correlation_id())
        await self._drain()

    async def close(self) -> None:
        self._fail("the connection was closed by this client")
        await self._tasks.close()
        try:
            await self._writer.wait_closed()
        except OSError as error:
            log.debug("closing the connection to %s: %s", self.address, error)

    async def _learn_versions(self) -> None:
        message = ApiVersionsRequest(client_software_name="inkless-python", client_software_version="0")
        call = await self._send(message, _API_VERSIONS_FIRST_TRY)
        body = await call.answer
        if _api_versions_error(body) == ErrorCode.UNSUPPORTED_VERSION:
            # A broker that does not know our version answers in version 0, whatever was asked (KIP-511).
            call = await self._send(message, 0)
            body = await call.answer
        response = self._decode(call, ApiVersionsResponse, body)
        check(response.error_code, f"versions of {self.address}")
        self._served = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}

    async def _send(self, message: object, version: int) -> _Call:
        await self._slots.acquire()
        try:
            correlation_id = self._next_correlation_id()
            self._write(message, version, correlation_id)
        except BaseException:
            self._slots.release()
            raise
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[memoryview] = loop.create_future()
        answer.add_done_callback(lambda _: self._slots.release())
        timer = loop.call_later(self._settings.request_timeout_ms / 1000, self._on_timeout, correlation_id)
        self._pending[correlation_id] = _Pending(answer, timer)
        await self._drain()
        return _Call(message_schema(type(message)).api_key, version, answer)

    def _next_correlation_id(self) -> int:
        self._correlation_id = self._correlation_id + 1 if self._correlation_id < _CORRELATION_ID_MAX else 1
        return self._correlation_id

    def _write(self, message: object, version: int, correlation_id: int) -> None:
        if self._closed_because is not None:
            raise Unavailable(f"{self.address}: {self._closed_because}")
        frame = bytearray(_LENGTH.size)
        frame += request_header(
            message_schema(type(message)).api_key,
            version,
            correlation_id=correlation_id,
            client_id=self._settings.client_id,
        )
        encoder(type(message), version)(message, frame)
        _LENGTH.pack_into(frame, 0, len(frame) - _LENGTH.size)
        self._writer.write(frame)

    async def _drain(self) -> None:
        try:
            async with asyncio.timeout(self._settings.request_timeout_ms / 1000):
                await self._writer.drain()
        except (OSError, TimeoutError) as error:
            self._fail(f"the connection broke while sending ({error!r})")

    async def _read_answers(self) -> None:
        reason = "the broker closed the connection"
        try:
            while True:
                (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
                if not _LENGTH.size <= length <= self._settings.response_bytes_max:
                    reason = f"the broker sent a frame of {length} bytes; is it a Kafka listener?"
                    break
                self._deliver(memoryview(await self._reader.readexactly(length)))
        except asyncio.IncompleteReadError:
            pass
        except (OSError, MalformedBytes) as error:
            reason = f"the connection broke ({error})"
        self._fail(reason)

    def _deliver(self, body: memoryview) -> None:
        (correlation_id,) = _LENGTH.unpack_from(body, 0)
        pending = self._pending.pop(correlation_id, None)
        if pending is None:
            raise MalformedBytes(f"an answer with the unknown correlation id {correlation_id}")
        pending.timer.cancel()
        if not pending.answer.done():
            pending.answer.set_result(body)

    def _decode(self, call: _Call, response_class: type[Response], body: memoryview) -> Response:
        try:
            _, pos = decode_response_header(body, 0, call.api_key, call.version)
            message, _ = decoder(response_class, call.version)(body, pos)
        except MalformedBytes as error:
            reason = f"the answer to {call.api_key.name} cannot be read ({error}); is it a Kafka listener?"
            self._fail(reason)
            raise Unavailable(f"{self.address}: {reason}") from error
        return message

    def _on_timeout(self, correlation_id: int) -> None:
        # Answers come in order, so behind one that does not come none will: the connection is of no use.
        if correlation_id in self._pending:
            self._fail(f"no answer within {self._settings.request_timeout_ms} ms")

    def _fail(self, reason: str) -> None:
        if self._closed_because is None:
            self._closed_because = reason
            self._writer.close()
        pending: Sequence[_Pending] = tuple(self._pending.values())
        self._pending.clear()
        for waiting in pending:
            waiting.timer.cancel()
            if not waiting.answer.done():
                waiting.answer.set_exception(Unavailable(f"{self.address}: {reason}"))


def _api_versions_error(body: memoryview) -> int:
    """The error code, which follows the correlation id in every version of this one response."""
    if len(body) < _LENGTH.size + _ERROR_CODE.size:
        return ErrorCode.NONE
    (code,) = _ERROR_CODE.unpack_from(body, _LENGTH.size)
    return int(code)

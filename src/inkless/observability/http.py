"""The HTTP server of the metrics: just enough of HTTP for Prometheus and for a health check.

One request per connection, a bounded request, a deadline, a bounded number of connections: it may listen
beside a broker that is under attack.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

from inkless.clock import TaskOwner
from inkless.observability.registry import CONTENT_TYPE, MetricsRegistry

log = logging.getLogger(__name__)

_REQUEST_BYTES_MAX = 8192
_CONNECTIONS_MAX = 16
_DEADLINE_S = 5.0


class _Answer(NamedTuple):
    status: str
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


_BAD_REQUEST = _Answer("400 Bad Request", b"bad request\n")
_NOT_FOUND = _Answer("404 Not Found", b"not found; there are /metrics and /healthz\n")
_NOT_ALLOWED = _Answer("405 Method Not Allowed", b"only GET and HEAD\n")
_TOO_LARGE = _Answer("431 Request Header Fields Too Large", b"request too large\n")


class MetricsServer:
    """Serves /metrics and /healthz. `healthy` says whether the broker can do its work now."""

    def __init__(self, registry: MetricsRegistry, healthy: Callable[[], bool]) -> None:
        self._registry = registry
        self._healthy = healthy
        self._tasks = TaskOwner("metrics server")
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listens, and gives the port, which is the system's choice where `port` is 0."""
        self._server = await asyncio.start_server(self._accept, host, port, limit=_REQUEST_BYTES_MAX)
        chosen: int = self._server.sockets[0].getsockname()[1]
        return chosen

    async def close(self) -> None:
        """Stops listening and cuts off who is still connected."""
        if self._server is not None:
            self._server.close()
        await self._tasks.close()
        if self._server is not None:
            await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= _CONNECTIONS_MAX:
            writer.transport.abort()
            return
        self._tasks.spawn(self._serve(reader, writer))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_DEADLINE_S):
                await self._exchange(reader, writer)
        except (TimeoutError, OSError, asyncio.IncompleteReadError):
            log.debug("metrics client cut off", exc_info=True)
        finally:
            # After a complete exchange nothing is left to lose; else the client is not worth waiting for.
            writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            answer, with_body = _TOO_LARGE, True
        else:
            answer, with_body = self._answer(head.partition(b"\r\n")[0])
        header = (
            f"HTTP/1.1 {answer.status}\r\nContent-Type: {answer.content_type}\r\n"
            f"Content-Length: {len(answer.body)}\r\nConnection: close\r\n\r\n"
        )
        writer.write(header.encode("ascii") + (answer.body if with_body else b""))
        writer.write_eof()
        await writer.drain()
        # The client closes when it has everything; aborting before could take the answer from it.
        while await reader.read(_REQUEST_BYTES_MAX):
            pass

    def _answer(self, request_line: bytes) -> tuple[_Answer, bool]:
        method, _, rest = request_line.partition(b" ")
        target, _, version = rest.partition(b" ")
        if not version.startswith(b"HTTP/1."):
            return _BAD_REQUEST, True
        if method not in {b"GET", b"HEAD"}:
            return _NOT_ALLOWED, True
        return self._resource(target.partition(b"?")[0]), method == b"GET"

    def _resource(self, path: bytes) -> _Answer:
        match path:
            case b"/metrics":
                return _Answer("200 OK", self._registry.render(), CONTENT_TYPE)
            case b"/healthz" if self._healthy():
                return _Answer("200 OK", b"ok\n")
            case b"/healthz":
                return _Answer("503 Service Unavailable", b"not ready\n")
            case _:
                return _NOT_FOUND

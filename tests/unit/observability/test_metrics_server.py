import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from inkless.observability import MetricsRegistry, MetricsServer


class _Health:
    good = True


@pytest.fixture
def health() -> _Health:
    return _Health()


@pytest.fixture
async def port(health: _Health) -> AsyncIterator[int]:
    registry = MetricsRegistry()
    registry.gauge("answer", "The answer.", lambda: 42)
    server = MetricsServer(registry, lambda: health.good)
    yield await server.start("127.0.0.1", 0)
    await server.close()


async def _ask(port: int, request: bytes) -> tuple[bytes, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    return head, body


async def test_metrics_are_served(port: int) -> None:
    head, body = await _ask(port, b"GET /metrics?all HTTP/1.1\r\nHost: x\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4")
    assert f"Content-Length: {len(body)}".encode() in head
    assert b"answer 42.0\n" in body


async def test_health_follows_the_broker(port: int, health: _Health) -> None:
    request = b"GET /healthz HTTP/1.1\r\n\r\n"
    assert await _status(port, request) == b"200"
    health.good = False
    assert await _status(port, request) == b"503"


async def _status(port: int, request: bytes) -> bytes:
    return (await _ask(port, request))[0].split(b" ")[1]


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"404"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"405"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"\r\n\r\n", b"400"),
        (b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", b"431"),
    ],
)
async def test_what_cannot_be_served_gets_its_status(port: int, request_bytes: bytes, status: bytes) -> None:
    assert await _status(port, request_bytes) == status


async def test_head_has_no_body(port: int) -> None:
    head, body = await _ask(port, b"HEAD /healthz HTTP/1.1\r\n\r\n")
    assert b"Content-Length: 3" in head
    assert body == b""


async def _rest(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """What still comes until the server ends the connection, politely or not."""
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()
        with contextlib.suppress(ConnectionResetError):
            await writer.wait_closed()


async def test_one_client_too_many_is_cut_off_alone(port: int) -> None:
    silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(16)]
    assert await _rest(*await asyncio.open_connection("127.0.0.1", port)) == b""
    for reader, writer in silent:
        writer.write(b"GET /healthz HTTP/1.1\r\n\r\n")
        assert (await _rest(reader, writer)).endswith(b"ok\n")


async def test_close_cuts_off_who_is_still_connected() -> None:
    server = MetricsServer(MetricsRegistry(), lambda: True)
    port = await server.start("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics")
    await server.close()
    assert await _rest(reader, writer) == b""


async def test_closing_before_starting_is_fine() -> None:
    await MetricsServer(MetricsRegistry(), lambda: True).close()

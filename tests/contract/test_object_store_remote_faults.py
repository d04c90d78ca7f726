"""A remote store on a bad day: a stub that speaks just enough HTTP gives the answers that the test says."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from inkless.clock import SystemClock
from inkless.errors import Unavailable
from inkless.storage.contract import ObjectMissing, ObjectStore
from inkless.storage.open import open_store
from inkless.storage.settings import StorageSettings

RESET = 0
SILENCE = -1
"""Not statuses: the connection is cut, or the request is never answered."""


class FaultyServer:
    """Answers the n-th request with the n-th status of its script, and with the last one from then on."""

    def __init__(self) -> None:
        self.script: list[int] = [200]
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.answer = b"abcdef"
        self.port = 0

    def settings(self) -> StorageSettings:
        return StorageSettings(
            url="s3://bucket/prefix",
            s3_endpoint=f"http://127.0.0.1:{self.port}",
            s3_region="us-east-1",
            s3_access_key="access",
            s3_secret_key="secret",
            s3_path_style=True,
            s3_allow_http=True,
            request_timeout_ms=2000,
            retries_max=3,
            retry_budget_ms=4000,
        )

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError), contextlib.closing(writer):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
                body = await reader.readexactly(int(fields.get("content-length", "0")))
                self.requests.append((head[0], fields, body))
                status = self.script[min(len(self.requests), len(self.script)) - 1]
                if status == RESET:
                    writer.transport.abort()
                    return
                if status == SILENCE:
                    await reader.read()
                    return
                writer.write(self._response(status))
                await writer.drain()

    def _response(self, status: int) -> bytes:
        body = self.answer if status in {200, 206} else b"<Error/>"
        lines = [
            f"HTTP/1.1 {status} Because",
            f"content-length: {len(body)}",
            'etag: "tag"',
            "last-modified: Mon, 01 Jan 2024 00:00:00 GMT",
        ]
        if status == 206:
            lines.append(f"content-range: bytes 0-{len(body) - 1}/{len(body)}")
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@pytest.fixture
async def server() -> AsyncIterator[FaultyServer]:
    faulty = FaultyServer()
    async with await asyncio.start_server(faulty.handle, "127.0.0.1", 0) as listening:
        faulty.port = listening.sockets[0].getsockname()[1]
        yield faulty


def opened(
    server: FaultyServer, change: Callable[[StorageSettings], StorageSettings] = lambda s: s
) -> ObjectStore:
    return open_store(change(server.settings()), SystemClock())


async def test_a_put_is_one_create_only_request(server: FaultyServer) -> None:
    await opened(server).put("wal/aa/x", [b"abc", memoryview(b"def")])
    [(line, fields, body)] = server.requests
    assert line == "PUT /bucket/prefix/wal/aa/x HTTP/1.1"
    assert fields["if-none-match"] == "*"
    assert body == b"abcdef"


async def test_a_large_put_is_one_request_too(server: FaultyServer) -> None:
    await opened(server).put("x", [bytes(6 << 20), bytes(6 << 20)])
    assert [len(body) for _, _, body in server.requests] == [12 << 20]


@pytest.mark.parametrize("trouble", [500, 503, RESET])
async def test_passing_trouble_is_not_seen(server: FaultyServer, trouble: int) -> None:
    server.script = [trouble, trouble, 200]
    await opened(server).put("x", [b"abc", b"def"])
    assert [body for _, _, body in server.requests] == [b"abcdef"] * 3


async def test_a_put_that_finds_itself_after_a_lost_answer_has_succeeded(server: FaultyServer) -> None:
    server.script = [RESET, 412]
    await opened(server).put("x", [b"abc"])
    assert len(server.requests) == 2


async def test_a_read_is_repeated(server: FaultyServer) -> None:
    server.script = [503, RESET, 206]
    assert bytes(await opened(server).get("x", start=0, end=6)) == b"abcdef"


async def test_retries_end(server: FaultyServer) -> None:
    server.script = [503]
    with pytest.raises(Unavailable) as gone:
        await opened(server).put("x", [b"abc"])
    assert len(server.requests) == 1 + server.settings().retries_max
    assert gone.value.__cause__ is not None
    assert "\n" not in str(gone.value)


async def test_a_store_that_says_nothing_is_unavailable(server: FaultyServer) -> None:
    server.script = [SILENCE]
    store = opened(server, lambda settings: replace(settings, request_timeout_ms=100, retries_max=1))
    with pytest.raises(Unavailable):
        await store.put("x", [b"abc"])
    with pytest.raises(Unavailable):
        await store.get("x", start=0, end=6)


async def test_a_refusal_is_unavailable_and_not_repeated(server: FaultyServer) -> None:
    server.script = [403]
    with pytest.raises(Unavailable):
        await opened(server).get("x", start=0, end=6)
    assert len(server.requests) == 1


async def test_an_answer_of_not_found_is_missing_for_a_read_only(server: FaultyServer) -> None:
    server.script = [404]
    with pytest.raises(ObjectMissing):
        await opened(server).get("x")
    with pytest.raises(Unavailable):
        await opened(server).put("x", [b"abc"])


async def test_a_server_that_is_not_there_is_unavailable(server: FaultyServer) -> None:
    def elsewhere(settings: StorageSettings) -> StorageSettings:
        return replace(settings, s3_endpoint="http://127.0.0.1:9", retries_max=0)

    store = opened(server, elsewhere)
    with pytest.raises(Unavailable):
        await store.put("x", [b"abc"])
    with pytest.raises(Unavailable):
        await store.delete(["x"])
    with pytest.raises(Unavailable):
        _ = [page async for page in store.list("")]


async def test_payloads_go_unsigned_when_that_is_set(server: FaultyServer) -> None:
    await opened(server).put("x", [b"abc"])
    await opened(server, lambda settings: replace(settings, s3_unsigned_payload=True)).put("y", [b"abc"])
    signed, unsigned = (fields["x-amz-content-sha256"] for _, fields, _ in server.requests)
    assert len(signed) == 64
    assert unsigned == "unsigned-payload"


async def test_a_stuck_read_is_rescued_by_its_hedge(server: FaultyServer) -> None:
    server.script = [SILENCE, 206]
    store = opened(server, lambda settings: replace(settings, hedge_after_ms=20, retries_max=0))
    assert bytes(await store.get("x", start=0, end=6)) == b"abcdef"
    assert len(server.requests) == 2
    await store.close()

"""A connection's promises: responses in request order, few writes, no reading while something is short."""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from inkless.buffers import BufferPool
from inkless.clock import TaskOwner
from inkless.protocol.codec import RequestHeader
from inkless.protocol.errors import MalformedBytes
from inkless.server.connection import Connection, Hold
from inkless.server.exchange import Exchange, Route
from inkless.server.receiving import Frame, ReceiveMemory
from inkless.settings import ServerSettings
from support.turned_clock import TurnedClock

SCRATCH_BYTES = 4096
RECEIVE_BYTES_MAX = 1 << 20


class FakeTransport(asyncio.Transport):
    """Keeps what is written and whether it is read from."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 5)})
        self.protocol: Connection | None = None
        self.written: list[bytes] = []
        self._is_reading = True
        self.unsent_bytes = 0
        self.write_limit_bytes = 0
        self.closed = False
        self.aborted = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.write_limit_bytes = high or 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        self.written.append(b"".join(list_of_data))

    def get_write_buffer_size(self) -> int:
        return self.unsent_bytes

    def is_reading(self) -> bool:
        return self._is_reading

    def pause_reading(self) -> None:
        assert self._is_reading, "asyncio raises when reading is paused twice"
        self._is_reading = False

    def resume_reading(self) -> None:
        assert not self._is_reading, "asyncio raises when reading was not paused"
        self._is_reading = True

    def is_closing(self) -> bool:
        return self.closed or self.aborted

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True


class Registry:
    def __init__(self) -> None:
        self.connections: list[Connection] = []
        self.is_full = False

    def opened(self, connection: Connection) -> bool:
        if not self.is_full:
            self.connections.append(connection)
        return not self.is_full

    def closed(self, connection: Connection) -> None:
        self.connections = [each for each in self.connections if each is not connection]


class ScriptedDispatcher:
    """Answers only when told to; a frame is a name, and `bad` makes no sense to it."""

    memory_is_short = False

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.exchanges: list[Exchange] = []
        self.coroutines: dict[bytes, Callable[[], Coroutine[Any, Any, bytes]]] = {}

    def dispatch(self, connection: Connection, frame: Frame) -> None:
        name = bytes(frame.view)
        if name == b"bad":
            raise MalformedBytes("makes no sense")
        self.frames.append(name)
        route = Route("TEST", lambda view, pos: (None, pos), lambda _, message: [message], lambda: None)
        exchange = Exchange(route, RequestHeader(0, 0, len(self.frames), None, 0), connection, frame.is_owned)
        self.exchanges.append(exchange)
        connection.expect(exchange)
        if name in self.coroutines:
            connection.run_in_turn(exchange, self.coroutines[name]())


class Client:
    """The other end of a connection."""

    def __init__(self, *, in_flight_max: int = 512) -> None:
        self.clock = TurnedClock()
        self.pool = BufferPool(idle_bytes_max=0)
        self.dispatcher = ScriptedDispatcher()
        self.registry = Registry()
        self.tasks = TaskOwner("test")
        self.transport = FakeTransport()
        self.connection = Connection(
            ServerSettings(requests_in_flight_max=in_flight_max, frame_bytes_max=RECEIVE_BYTES_MAX * 2),
            listener="PLAINTEXT",
            dispatcher=self.dispatcher,
            registry=self.registry,
            memory=ReceiveMemory(scratch_bytes=SCRATCH_BYTES, pool=self.pool, bytes_max=RECEIVE_BYTES_MAX),
            tasks=self.tasks,
            clock=self.clock,
        )
        self.connection.connection_made(self.transport)

    def send(self, *names: bytes) -> None:
        self.send_bytes(b"".join(struct.pack(">i", len(name)) + name for name in names))

    def send_bytes(self, data: bytes) -> None:
        while data:
            room = self.connection.get_buffer(-1)
            count = min(len(room), len(data))
            room[:count] = data[:count]
            data = data[count:]
            self.connection.buffer_updated(count)

    def answer(self, place: int, message: bytes) -> None:
        self.dispatcher.exchanges[place].reply(message)


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    made = Client()
    yield made
    await made.tasks.close()


async def test_responses_leave_in_the_order_of_their_requests(client: Client) -> None:
    client.send(b"a", b"b", b"c")
    client.answer(2, b"third")
    client.answer(1, b"second")
    await turns()
    assert client.transport.written == []
    client.answer(0, b"first")
    await turns()
    assert b"".join(client.transport.written) == b"firstsecondthird"
    assert client.connection.unanswered == 0


async def test_what_is_answered_in_one_turn_is_written_at_once(client: Client) -> None:
    client.send(*[b"x"] * 50)
    for place in range(50):
        client.answer(place, b"%02d" % place)
    await turns()
    assert client.transport.written == [b"".join(b"%02d" % place for place in range(50))]


async def test_an_answer_that_is_ready_does_not_wait_for_those_behind_it(client: Client) -> None:
    client.send(b"a", b"b")
    client.answer(0, b"first")
    await turns()
    assert client.transport.written == [b"first"]
    assert client.connection.unanswered == 1


async def test_a_request_without_a_response_does_not_stop_those_behind_it(client: Client) -> None:
    client.send(b"a", b"b")
    client.answer(1, b"second")
    client.dispatcher.exchanges[0].reply_nothing()
    await turns()
    assert client.transport.written == [b"second"]
    assert client.connection.unanswered == 0


async def test_too_many_unanswered_requests_stop_the_reading_until_one_is_answered() -> None:
    client = Client(in_flight_max=3)
    client.send(b"a", b"b")
    assert client.transport.is_reading()
    client.send(b"c")
    assert not client.transport.is_reading()
    client.answer(2, b"third")
    await turns()
    assert not client.transport.is_reading()
    client.answer(0, b"first")
    await turns()
    assert client.transport.is_reading()


async def test_reading_goes_on_only_when_every_reason_against_it_is_gone(client: Client) -> None:
    for reason in Hold:
        client.connection.hold(reason)
        client.connection.hold(reason)
    for reason in Hold:
        assert not client.transport.is_reading()
        client.connection.release(reason)
        client.connection.release(reason)
    assert client.transport.is_reading()


async def test_a_closing_connection_is_not_read_again(client: Client) -> None:
    client.connection.hold(Hold.PRODUCE)
    client.connection.close()
    client.connection.release(Hold.PRODUCE)
    assert not client.transport.is_reading()
    assert client.transport.closed


async def test_a_client_that_does_not_read_is_neither_read_nor_worked_for(client: Client) -> None:
    started: list[bytes] = []

    async def work() -> bytes:
        started.append(b"work")
        return b"done"

    client.dispatcher.coroutines[b"work"] = work
    assert client.transport.write_limit_bytes == ServerSettings().write_buffer_bytes_max
    client.connection.pause_writing()
    assert not client.transport.is_reading()
    client.send(b"work")
    await turns()
    assert started == []
    client.connection.resume_writing()
    await turns()
    assert client.transport.is_reading()
    assert client.transport.written == [b"done"]


async def test_requests_that_wait_run_one_after_the_other(client: Client) -> None:
    events: list[bytes] = []
    go_on = asyncio.Event()

    async def slow() -> bytes:
        events.append(b"slow began")
        await go_on.wait()
        events.append(b"slow ended")
        return b"slow."

    async def fast() -> bytes:
        events.append(b"fast")
        return b"fast."

    client.dispatcher.coroutines = {b"slow": slow, b"fast": fast}
    client.send(b"slow", b"fast")
    await turns()
    assert events == [b"slow began"]
    go_on.set()
    await turns(10)
    assert events == [b"slow began", b"slow ended", b"fast"]
    assert b"".join(client.transport.written) == b"slow.fast."


async def test_bytes_that_make_no_sense_close_their_connection_and_no_other(client: Client) -> None:
    other = Client()
    client.send(b"a", b"bad", b"c")
    other.send(b"a")
    assert client.transport.aborted
    assert client.dispatcher.frames == [b"a"]
    assert not other.transport.is_closing()


@pytest.mark.parametrize("length", [0, -1, RECEIVE_BYTES_MAX * 2 + 1])
async def test_a_length_that_no_frame_has_closes_the_connection(client: Client, length: int) -> None:
    client.send_bytes(struct.pack(">i", length))
    assert client.transport.aborted


async def test_a_handler_that_fails_closes_the_connection(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> bytes:
        raise RuntimeError("a bug")

    client.dispatcher.coroutines[b"fail"] = fail
    client.send(b"fail")
    await turns()
    assert client.transport.aborted
    assert "request failed" in caplog.text


async def test_a_connection_too_many_is_closed_at_once() -> None:
    client = Client()
    late = FakeTransport()
    client.registry.is_full = True
    client.connection.connection_made(late)
    assert late.aborted


async def test_when_the_client_leaves_what_runs_ends_and_what_waits_never_begins(client: Client) -> None:
    ended = asyncio.Event()
    began: list[bytes] = []

    async def run() -> bytes:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return b""

    async def wait() -> bytes:
        began.append(b"wait")
        return b""

    client.dispatcher.coroutines = {b"run": run, b"wait": wait}
    client.send(b"run", b"wait", b"later")
    await turns()
    client.connection.connection_lost(None)
    await ended.wait()
    await turns()
    assert began == []
    assert not client.connection.is_open
    assert client.connection.unanswered == 0
    assert client.registry.connections == []


async def test_an_answer_for_a_client_that_has_left_goes_nowhere(client: Client) -> None:
    client.send(b"a")
    client.connection.connection_lost(None)
    client.answer(0, b"late")
    client.connection.release(Hold.PRODUCE)
    await turns()
    assert client.transport.written == []


async def test_a_frame_without_memory_stops_the_reading_until_some_comes_back(client: Client) -> None:
    held = client.pool.lease(RECEIVE_BYTES_MAX)
    frame = bytes(RECEIVE_BYTES_MAX // 2)
    stream = struct.pack(">i", len(frame)) + frame
    client.send_bytes(stream[:1000])
    assert not client.transport.is_reading()
    assert client.connection.is_starved
    del held
    await turns()
    assert client.transport.is_reading()
    client.send_bytes(stream[1000:])
    assert client.dispatcher.frames == [frame]


async def test_memory_that_a_starved_client_no_longer_wants_goes_to_the_next(client: Client) -> None:
    held = client.pool.lease(RECEIVE_BYTES_MAX)
    other = Client()
    other.connection._receiver = type(other.connection._receiver)(
        client.connection._memory, frame_bytes_max=RECEIVE_BYTES_MAX
    )
    other.connection._memory = client.connection._memory
    start = struct.pack(">i", RECEIVE_BYTES_MAX // 2) + b"start"
    client.send_bytes(start)
    other.send_bytes(start)
    assert client.connection.is_starved
    assert other.connection.is_starved
    client.connection.connection_lost(None)
    del held
    await turns()
    assert other.transport.is_reading()


async def test_the_memory_of_a_frame_that_never_ends_comes_back_when_its_client_leaves(
    client: Client,
) -> None:
    client.send(b"still under way")
    client.send_bytes(struct.pack(">i", RECEIVE_BYTES_MAX // 2) + b"start")
    assert client.pool.leased_bytes > 0
    client.connection.connection_lost(None)
    assert client.pool.leased_bytes == 0


async def test_a_client_is_stalled_when_it_holds_memory_and_sends_nothing(client: Client) -> None:
    client.send_bytes(struct.pack(">i", RECEIVE_BYTES_MAX // 2) + b"start")
    now = client.clock.monotonic()
    assert not client.connection.is_stalled(since=now)
    assert client.connection.is_stalled(since=now + 1)
    client.connection.hold(Hold.PRODUCE)
    assert not client.connection.is_stalled(since=now + 1)


async def test_a_client_that_holds_no_memory_is_never_stalled(client: Client) -> None:
    client.send_bytes(struct.pack(">i", 100) + b"start")
    assert not client.connection.is_stalled(since=client.clock.monotonic() + 1)


async def test_a_response_is_unread_while_some_of_it_is_unsent(client: Client) -> None:
    client.send(b"a")
    client.answer(0, b"first")
    await turns()
    now = client.clock.monotonic()
    assert not client.connection.is_unread(since=now + 1)
    client.transport.unsent_bytes = 3
    assert client.connection.is_unread(since=now + 1)
    assert not client.connection.is_unread(since=now)

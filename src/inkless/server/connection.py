"""One client's connection: frames in, responses out in request order, with limits on both."""

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine
from enum import IntFlag, auto
from typing import Any, Protocol, cast

from inkless.clock import Clock, TaskOwner
from inkless.protocol.errors import MalformedBytes
from inkless.server.exchange import Exchange
from inkless.server.receiving import Frame, FrameReceiver, ReceiveMemory
from inkless.settings import ServerSettings

log = logging.getLogger(__name__)

# Many small responses leave as one buffer: handing the kernel a list of them costs more than the copy.
_JOINED_BUFFERS_MIN = 2
_JOINED_BYTES_MAX = 64 * 1024


class Hold(IntFlag):
    """Why a connection is not being read."""

    IN_FLIGHT = auto()
    """Too many of its requests are unanswered."""
    UNSENT = auto()
    """Its client does not read its responses."""
    MEMORY = auto()
    """A frame waits for receive memory."""
    PRODUCE = auto()
    """The produce path is saturated."""
    STOPPING = auto()


class Dispatcher(Protocol):
    """Turns a frame into an exchange that will be answered, or raises MalformedBytes."""

    def dispatch(self, connection: "Connection", frame: Frame) -> None: ...

    @property
    def memory_is_short(self) -> bool:
        """Whether requests wait for memory that unread responses may hold."""
        ...


class ConnectionRegistry(Protocol):
    """Keeps track of the connections of a listener."""

    def opened(self, connection: "Connection") -> bool:
        """False when there is no room for one more."""
        ...

    def closed(self, connection: "Connection") -> None: ...


class Connection(asyncio.BufferedProtocol):
    """Requests are dispatched as they arrive, so many of one connection may be under way together.

    Those whose handlers wait for something else than a produce commit run one after the other, as clients
    expect.
    """

    def __init__(
        self,
        settings: ServerSettings,
        *,
        listener: str,
        dispatcher: Dispatcher,
        registry: ConnectionRegistry,
        memory: ReceiveMemory,
        tasks: TaskOwner,
        clock: Clock,
    ) -> None:
        self.listener = listener
        self.peer_host = ""
        self.last_active_at = clock.monotonic()
        self._settings = settings
        self._dispatcher = dispatcher
        self._registry = registry
        self._memory = memory
        self._tasks = tasks
        self._clock = clock
        self._receiver = FrameReceiver(memory, frame_bytes_max=settings.frame_bytes_max)
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._holds = Hold(0)
        self._returns_tried = -1
        self._written_at = 0.0
        self._unanswered: deque[Exchange] = deque()
        self._flush_scheduled = False
        self._waiting: deque[tuple[Exchange, Coroutine[Any, Any, Any]]] = deque()
        self._running: asyncio.Task[Any] | None = None

    # The transport's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the interface of asyncio.Transport without being one.
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self.peer_host = str(peer[0]) if peer else ""
        self._transport.set_write_buffer_limits(high=self._settings.write_buffer_bytes_max)
        if not self._registry.opened(self):
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        # Requests that are under way keep this object for a while, not the memory of a frame that never ends.
        self._receiver.abandon()
        self._registry.closed(self)
        if self._running is not None:
            self._running.cancel()
        for _, coroutine in self._waiting:
            coroutine.close()
        self._waiting.clear()
        self._unanswered.clear()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._receiver.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        self.last_active_at = self._clock.monotonic()
        try:
            for frame in self._receiver.received(nbytes):
                self._dispatcher.dispatch(self, frame)
                if self._transport is None:
                    return
        except MalformedBytes as error:
            self.refuse(str(error))
            return
        if self._receiver.starved:
            self.hold(Hold.MEMORY)
            self._memory.when_returned(self._memory_returned)
        if len(self._unanswered) >= self._settings.requests_in_flight_max:
            self.hold(Hold.IN_FLIGHT)

    def pause_writing(self) -> None:
        self.hold(Hold.UNSENT)

    def resume_writing(self) -> None:
        self.release(Hold.UNSENT)
        self._run_next()

    # The handlers' side

    @property
    def is_open(self) -> bool:
        return self._transport is not None

    @property
    def unanswered(self) -> int:
        return len(self._unanswered)

    @property
    def is_starved(self) -> bool:
        """Whether its frame waits for memory that others hold."""
        return bool(self._holds & Hold.MEMORY)

    def is_stalled(self, since: float) -> bool:
        """Whether it holds memory for a frame of which nothing more has come, though it is being read."""
        return self._receiver.holds_memory and not self._holds and self.last_active_at < since

    def is_unread(self, since: float) -> bool:
        """Whether its client has left the latest response lying about since then."""
        unsent = self._transport is not None and self._transport.get_write_buffer_size() > 0
        return unsent and self._written_at < since

    def expect(self, exchange: Exchange) -> None:
        """Gives the exchange its place in the order of responses."""
        self._unanswered.append(exchange)

    def answered(self) -> None:
        """Sends what is ready, once for all exchanges that are answered in this turn of the loop."""
        if not self._flush_scheduled:
            self._flush_scheduled = True
            self._loop.call_soon(self._flush)

    def run_in_turn(self, exchange: Exchange, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Runs it when those before it are done; its result answers the exchange."""
        self._waiting.append((exchange, coroutine))
        if self._running is None:
            self._run_next()

    def hold(self, reason: Hold) -> None:
        """Stops reading until every hold is released."""
        if not self._holds and self._transport is not None:
            self._transport.pause_reading()
        self._holds |= reason

    def release(self, reason: Hold) -> None:
        if not self._holds & reason:
            return
        self._holds &= ~reason
        if not self._holds and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def refuse(self, why: str) -> None:
        """Closes a connection whose bytes make no sense; nothing after them can be trusted."""
        log.info("connection closed", extra={"peer": self.peer_host, "reason": why})
        self.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Closes once everything written has been sent."""
        if self._transport is not None:
            self._transport.close()

    def _memory_returned(self) -> None:
        # Leases may end in another thread.
        self._loop.call_soon_threadsafe(self._retry_receive)

    def _retry_receive(self) -> None:
        if self._transport is None:
            self._memory.pass_on()
        elif self._receiver.retry():
            self._memory.pass_on()
            self.release(Hold.MEMORY)
        else:
            self._memory.when_returned(self._memory_returned)
            # A smaller frame that waits behind this one may fit. Nobody is tried twice for the same return,
            # or those that do not fit would pass it round for ever.
            if self._returns_tried != self._memory.returned_count:
                self._returns_tried = self._memory.returned_count
                self._memory.pass_on()

    def _flush(self) -> None:
        self._flush_scheduled = False
        unanswered = self._unanswered
        buffers: list[bytes | bytearray | memoryview] = []
        while unanswered and (response := unanswered[0].response) is not None:
            buffers += response
            unanswered.popleft()
        if self._transport is None:
            return
        if len(buffers) > _JOINED_BUFFERS_MIN and sum(map(len, buffers)) <= _JOINED_BYTES_MAX:
            self._transport.write(b"".join(buffers))
        elif buffers:
            self._transport.writelines(buffers)
        self._written_at = self._clock.monotonic()
        if self._holds & Hold.IN_FLIGHT and len(unanswered) < self._settings.requests_in_flight_max:
            self.release(Hold.IN_FLIGHT)

    def _run_next(self) -> None:
        if self._waiting and self._running is None and not self._holds & Hold.UNSENT:
            exchange, coroutine = self._waiting.popleft()
            self._running = self._tasks.spawn(self._run(exchange, coroutine), on_done=self._run_ended)

    async def _run(self, exchange: Exchange, coroutine: Coroutine[Any, Any, Any]) -> None:
        try:
            exchange.reply(await coroutine)
        except Exception:
            log.exception("request failed", extra={"api": exchange.api_name, "peer": self.peer_host})
            self.abort()

    def _run_ended(self, _: asyncio.Task[Any]) -> None:
        self._running = None
        self._run_next()

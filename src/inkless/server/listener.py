"""Listening sockets and the connections that came in through them."""

import asyncio
import functools
import logging
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inkless.buffers import BufferPool
from inkless.clock import Clock, TaskOwner
from inkless.server.connection import Connection, Dispatcher, Hold
from inkless.server.receiving import ReceiveMemory
from inkless.settings import ListenerAddress, ServerSettings

log = logging.getLogger(__name__)

_BACKLOG = 1024
_IDLE_CHECKS_PER_LIMIT = 4
_STALL_SECONDS_MAX = 5.0
_STALL_CHECK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class BoundListener:
    """An address that is taken but not yet served; `address` has the real port."""

    address: ListenerAddress
    socket: socket.socket


def bind(address: ListenerAddress) -> BoundListener:
    """Raises OSError, with the address in its message, when it cannot be had."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        bound = socket.create_server((address.host, address.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise OSError(error.errno, f"cannot listen on {address}: {error.strerror}") from error
    bound.setblocking(False)
    return BoundListener(address._replace(port=bound.getsockname()[1]), bound)


@dataclass(slots=True)
class ConnectionCounters:
    """Totals since the start, read by the metrics."""

    accepted: int = 0
    refused: int = 0
    idle_closed: int = 0
    stalled_closed: int = 0


class Listeners:
    """All listeners of a broker, one limit on their connections."""

    def __init__(
        self, settings: ServerSettings, *, dispatcher: Dispatcher, pool: BufferPool, clock: Clock
    ) -> None:
        self._settings = settings
        self._dispatcher = dispatcher
        self._clock = clock
        self._memory = ReceiveMemory(
            scratch_bytes=settings.receive_buffer_bytes,
            pool=pool,
            bytes_max=settings.receive_memory_bytes_max,
        )
        self._servers: list[asyncio.Server] = []
        self._connections: set[Connection] = set()
        self._tasks = TaskOwner("connections")
        self._stopping = False
        self.counters = ConnectionCounters()

    def __len__(self) -> int:
        return len(self._connections)

    def opened(self, connection: Connection) -> bool:
        if self._stopping or len(self._connections) >= self._settings.connections_max:
            self.counters.refused += 1
            return False
        self.counters.accepted += 1
        self._connections.add(connection)
        return True

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)

    async def start(self, bound: Sequence[BoundListener]) -> None:
        """Begins to accept."""
        loop = asyncio.get_running_loop()
        for listener in bound:
            factory = functools.partial(self._connection, listener.address.name)
            self._servers.append(await loop.create_server(factory, sock=listener.socket, backlog=_BACKLOG))
        self._tasks.spawn(self._close_idle())
        self._tasks.spawn(self._close_stalled())

    async def drain(self) -> None:
        """Accepts and reads nothing more; returns when every request that was read has been answered."""
        self._stopping = True
        for server in self._servers:
            server.close()
        for connection in self._connections:
            connection.hold(Hold.STOPPING)
        deadline = self._clock.monotonic() + self._settings.shutdown_timeout_ms / 1000
        while any(connection.unanswered for connection in self._connections):
            if self._clock.monotonic() > deadline:
                log.warning("stopping with unanswered requests")
                return
            await self._clock.sleep(0.005)

    async def close(self) -> None:
        """Closes every connection after what was written to it has been sent."""
        self._stopping = True
        for server in self._servers:
            server.close()
        for connection in list(self._connections):
            connection.close()
        deadline = self._clock.monotonic() + 1.0
        while self._connections and self._clock.monotonic() < deadline:
            await self._clock.sleep(0.005)
        for connection in list(self._connections):
            connection.abort()
        await self._tasks.close()

    def _connection(self, listener: str) -> Connection:
        return Connection(
            self._settings,
            listener=listener,
            dispatcher=self._dispatcher,
            registry=self,
            memory=self._memory,
            tasks=self._tasks,
            clock=self._clock,
        )

    async def _close_idle(self) -> None:
        limit_s = self._settings.connection_idle_ms / 1000
        while True:
            await self._clock.sleep(limit_s / _IDLE_CHECKS_PER_LIMIT)
            idle_since = self._clock.monotonic() - limit_s
            for connection in list(self._connections):
                if connection.last_active_at < idle_since and not connection.unanswered:
                    self.counters.idle_closed += 1
                    connection.refuse("idle")

    async def _close_stalled(self) -> None:
        """Takes memory from those who neither send nor read what they asked for, when others need it."""
        while True:
            await self._clock.sleep(_STALL_CHECK_SECONDS)
            since = self._clock.monotonic() - _STALL_SECONDS_MAX
            if any(connection.is_starved for connection in self._connections):
                stalled = [each for each in self._connections if each.is_stalled(since)]
                self._close_all(stalled, "stalled in the middle of a request")
            if self._dispatcher.memory_is_short:
                unread = [each for each in self._connections if each.is_unread(since)]
                self._close_all(unread, "does not read its responses")

    def _close_all(self, connections: Iterable[Connection], why: str) -> None:
        for connection in connections:
            self.counters.stalled_closed += 1
            connection.refuse(why)

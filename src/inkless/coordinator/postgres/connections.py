"""Pools of connections, and transactions that begin by taking their locks.

Everything that changes a table holds the advisory lock that stands for it, so that nobody ever waits for a
row: fewer, larger transactions one after the other beat many that wait for each other's rows. The order in
which locks are taken is that of `Lock`, which is what keeps deadlocks away:

    METADATA   cluster, topics, partitions, brokers, broker_configs
    LOGS       logs, runs, objects, commit_answers, producers, pending_trims
    then       rows of consumer_groups by their id, then rows of group_offsets by their key
"""

import asyncio
import enum
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias, TypeVar
from urllib.parse import parse_qs, urlsplit

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from inkless.coordinator.postgres.errors import is_conflict, translated_errors
from inkless.coordinator.postgres.settings import PostgresSettings
from inkless.errors import Unavailable

Connection: TypeAlias = "asyncpg.Connection[Any] | PoolConnectionProxy[Any]"

_Answer = TypeVar("_Answer")

# Plans are made once, perhaps while tables are empty and anything is fast. What commits and finds do is look
# up by key, so everything else is made unattractive; the huge costs of that would invoke the JIT.
_BY_KEY_ONLY = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}
# Where the server is set up to lose acknowledged transactions, ours are synced all the same.
_SYNC_COMMITS = """
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') IN ('off', 'local')
"""


class Lock(enum.IntEnum):
    """First half of an advisory lock's key, the shard being the second; in the order in which they are taken.
    The numbers are shared by all versions that may run at the same time."""

    SCHEMA = 0x494E4B00
    METADATA = 0x494E4B01
    LOGS = 0x494E4B02


class _Session(asyncpg.Connection):
    """Nothing outlives our transactions, so a session need not be reset before its next use."""

    def get_reset_query(self) -> str:
        return ""


class Pool:
    """Connections for one kind of work, so that no kind waits for another."""

    def __init__(self, pool: "asyncpg.Pool[Any]", settings: PostgresSettings) -> None:
        self._pool = pool
        self._settings = settings
        self._calls = 0

    @classmethod
    async def open(cls, settings: PostgresSettings, *, connections_max: int, by_key_only: bool) -> "Pool":
        with translated_errors():
            pool = await asyncpg.create_pool(
                min_size=1,
                max_size=connections_max,
                connection_class=_Session,
                init=_prepare_session,
                server_settings=_session_settings(settings) | (_BY_KEY_ONLY if by_key_only else {}),
                **connect_arguments(settings),
            )
        return cls(pool, settings)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection for one call; Unavailable when all of it takes longer than a call may."""
        if self._calls >= self._settings.calls_waiting_max:
            raise Unavailable(f"PostgreSQL: {self._calls} calls are waiting already")
        self._calls += 1
        timeout = self._settings.call_timeout_ms / 1000
        try:
            with translated_errors():
                async with asyncio.timeout(timeout), self._pool.acquire(timeout=timeout) as connection:
                    yield connection
        finally:
            self._calls -= 1

    async def fetch(self, sql: str, *arguments: Any) -> "list[asyncpg.Record]":
        async with self.connection() as connection:
            return await connection.fetch(sql, *arguments)

    async def transact(
        self, work: Callable[[Connection], Awaitable[_Answer]], *, locks: Sequence[Lock] = ()
    ) -> _Answer:
        """Carries out the work in a transaction, again when the database gave it up for another's sake."""
        attempts_left = self._settings.conflict_attempts_max
        while True:
            attempts_left -= 1
            try:
                async with self.connection() as connection, self._transaction(connection, locks):
                    return await work(connection)
            except Unavailable as error:
                if attempts_left == 0 or not is_conflict(error):
                    raise

    @asynccontextmanager
    async def _transaction(self, connection: Connection, locks: Sequence[Lock]) -> AsyncIterator[None]:
        """Durable when it ends without an error, undone otherwise.

        Every statement after the locks must see what their former holders committed, hence READ COMMITTED
        whatever the server's default is. One round trip begins it and takes the locks.
        """
        shard = self._settings.shard
        taken = "".join(f"; SELECT pg_advisory_xact_lock({lock:d}, {shard:d})" for lock in sorted(locks))
        try:
            await connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED" + taken)
            yield
            outcome = await connection.execute("COMMIT")
            if outcome != "COMMIT":
                # The server ends a transaction in which a statement failed without calling it an error.
                raise Unavailable(f"PostgreSQL: a transaction ended with {outcome}")
        except BaseException:
            await _roll_back(connection, seconds_max=self._settings.connect_timeout_ms / 1000)
            raise

    async def close(self) -> None:
        try:
            async with asyncio.timeout(self._settings.connect_timeout_ms / 1000):
                await self._pool.close()
        except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            self._pool.terminate()


async def _roll_back(connection: Connection, *, seconds_max: float) -> None:
    """A connection that cannot even do that is given up, and the server undoes what it began."""
    if connection.is_closed():
        return
    try:
        async with asyncio.timeout(seconds_max):
            await connection.execute("ROLLBACK")
    except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        with suppress(asyncpg.InterfaceError):
            connection.terminate()


async def connect(settings: PostgresSettings) -> "asyncpg.Connection[Any]":
    """A connection outside of all pools."""
    with translated_errors():
        connection: asyncpg.Connection[Any] = await asyncpg.connect(
            server_settings=_session_settings(settings), **connect_arguments(settings)
        )
        return connection


def connect_arguments(settings: PostgresSettings) -> dict[str, Any]:
    """The driver lets arguments win over the URL; here it is the other way round."""
    url = urlsplit(settings.url)
    query = parse_qs(url.query)
    return {
        "dsn": settings.url,
        "user": None if url.username or "user" in query else settings.username,
        "password": None if url.password or "password" in query else settings.password,
        "timeout": settings.connect_timeout_ms / 1000,
    }


def _session_settings(settings: PostgresSettings) -> dict[str, str]:
    return {
        "application_name": "inkless",
        "statement_timeout": str(settings.call_timeout_ms),
        "lock_timeout": str(settings.call_timeout_ms),
        "idle_in_transaction_session_timeout": str(settings.idle_in_transaction_ms),
        "jit": "off",
    }


async def _prepare_session(connection: Connection) -> None:
    await connection.execute(_SYNC_COMMITS)

"""Connections, transactions and the lock between processes.

Every statement costs one release of the interpreter lock, and one wait to get it back while the event loop is
busy. So statements are few and large: many rows are written with one, and lists are read as one JSON value.
"""

import fcntl
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from inkless.errors import ConfigurationError, InvariantViolated, Unavailable

_PAGE_CACHE_KIB = 16 * 1024
_OLDEST_VERSION = (3, 37, 0)
"""The first with STRICT tables."""


@contextmanager
def translated_errors() -> Iterator[None]:
    """The border of the vendor: what SQLite raises leaves as `Unavailable`, with its cause.

    A number of more than 64 bits fits no field of the wire format either, so it can only be our own bug.
    """
    try:
        yield
    except OverflowError as error:
        raise InvariantViolated(f"SQLite: {error}") from error
    except sqlite3.Error as error:
        raise Unavailable(f"SQLite: {error}") from error


def connect(path: Path, *, busy_timeout_ms: int) -> sqlite3.Connection:
    """A connection in autocommit mode, to be used by one thread at a time.

    An acknowledged commit must survive the machine, hence synchronous=FULL: with NORMAL the write-ahead log
    is not synced at commit.
    """
    if sqlite3.sqlite_version_info < _OLDEST_VERSION:
        raise ConfigurationError(
            f"inkless.control.plane.url: SQLite {sqlite3.sqlite_version} is too old, 3.37 or newer is needed"
        )
    connection = sqlite3.connect(
        path,
        timeout=busy_timeout_ms / 1000,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA cache_size = -{_PAGE_CACHE_KIB}")
    return connection


def fetch_list(connection: sqlite3.Connection, sql: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
    """The list that a statement returns as its one value, a JSON array."""
    return json.loads(connection.execute(sql, parameters).fetchone()[0])  # type: ignore[no-any-return]


class WriteLock:
    """A file lock that writers of all processes take before SQLite's own.

    SQLite's lock is polled with growing pauses, under which one process can starve for seconds; the kernel
    wakes waiters at once. Correctness does not rest on it. The lock of a dead process is free.
    """

    def __init__(self, database: Path) -> None:
        self._descriptor = os.open(f"{database}-lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def __enter__(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)


@contextmanager
def write_transaction(connection: sqlite3.Connection, lock: WriteLock) -> Iterator[None]:
    """Durable when it ends without an error, undone otherwise. Lock order: the file, then the database."""
    with lock:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def read_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All statements inside see the same state."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")

"""The reading side: what runs in the thread that owns the reading connection."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from inkless.coordinator.sqlite.connection import read_transaction, translated_errors
from inkless.coordinator.sqlite.find import Finder
from inkless.coordinator.sqlite.settings import SqliteSettings

_Answer = TypeVar("_Answer")
Query = Callable[[sqlite3.Connection], Any]


class Reader:
    """Answers groups of queries, each group from one state of the database.

    A query never waits for a writer: in the write-ahead log both work at once.
    """

    def __init__(self, connection: sqlite3.Connection, settings: SqliteSettings) -> None:
        self._connection = connection
        self.finder = Finder(connection, entries_max=settings.cached_entries_max)

    def execute(self, group: Sequence[Query]) -> list[Any]:
        with translated_errors(), read_transaction(self._connection):
            return [self._answer(query) for query in group]

    def answer(self, ask: Callable[[Finder], _Answer]) -> _Answer:
        """One answer from one state of the database, in the thread that asks."""
        with translated_errors(), read_transaction(self._connection):
            return ask(self.finder)

    def close(self) -> None:
        self._connection.close()

    def _answer(self, query: Query) -> Any:
        try:
            with translated_errors():
                return query(self._connection)
        except Exception as error:  # noqa: BLE001 handed to the caller as it is
            return error

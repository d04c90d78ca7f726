"""Many rows with few statements."""

import sqlite3
from collections.abc import Sequence
from itertools import chain
from typing import Any

_CHUNKS = (256, 32, 4, 1)
"""Fixed sizes keep the SQL strings constant, so that SQLite prepares each only once."""


class RowWriter:
    """Writes rows of one shape through multi-row VALUES."""

    def __init__(self, before_values: str, *, columns: int, after_values: str = "") -> None:
        row = f"({', '.join('?' * columns)})"
        self._statements = [
            (size, f"{before_values} VALUES {', '.join([row] * size)} {after_values}") for size in _CHUNKS
        ]

    def write(self, connection: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        position = 0
        for size, statement in self._statements:
            while len(rows) - position >= size:
                chunk = rows[position : position + size]
                connection.execute(statement, list(chain.from_iterable(chunk)))
                position += size

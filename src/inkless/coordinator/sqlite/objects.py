"""Objects that nothing refers to: listed for deletion, condemned before they can be committed, forgotten.

`unreferenced_since_ms` is set while an object is to be deleted. A row without runs and without that time is
what remains of one that is gone; it tells a commit that is repeated late that it is a repetition.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from inkless.coordinator.sqlite.connection import fetch_list
from inkless.coordinator.types import ObjectId, UnreferencedObject

WAL_OBJECT = 0
CONDEMNED_OBJECT = 2

_CHUNK = 64

_UNREFERENCED = """
    SELECT json_group_array(json_array(hex(object_id), object_key, byte_length, unreferenced_since_ms)) FROM (
        SELECT * FROM objects WHERE unreferenced_since_ms < ? ORDER BY unreferenced_since_ms LIMIT ?)
"""
_STANDINGS = f"""
    SELECT object_id, kind, unreferenced_since_ms IS NOT NULL FROM objects
    WHERE object_id IN ({", ".join("?" * _CHUNK)})
"""  # noqa: S608 only placeholders are put in
# An upload that arrives after the deletion brings a condemned object back, so it is listed once more.
_CONDEMN = """
    INSERT INTO objects VALUES (NULL, ?1, '', 0, -1, ?2, ?3, 0, ?3)
    ON CONFLICT (object_id) DO UPDATE SET unreferenced_since_ms = ?3
    WHERE kind = ?2 AND unreferenced_since_ms IS NULL
"""
_FORGET = """
    UPDATE objects SET unreferenced_since_ms = NULL, object_key = '', byte_length = 0
    WHERE object_id = ? AND unreferenced_since_ms IS NOT NULL AND run_count = 0
"""
_LONG_FORGOTTEN = """
    SELECT object_number FROM objects
    WHERE run_count = 0 AND unreferenced_since_ms IS NULL AND kind < 2 AND committed_ms < ?
    ORDER BY committed_ms LIMIT ?
"""


class Standing(NamedTuple):
    """What the database knows of an object."""

    kind: int
    is_listed: bool
    """As one to be deleted."""


def unreferenced_objects(
    connection: sqlite3.Connection, *, since_before_ms: int, count_max: int
) -> list[UnreferencedObject]:
    return [
        UnreferencedObject(ObjectId(bytes.fromhex(object_id)), key, byte_length, since_ms)
        for object_id, key, byte_length, since_ms in fetch_list(
            connection, _UNREFERENCED, (since_before_ms, count_max)
        )
    ]


def without_commit(connection: sqlite3.Connection, object_ids: Sequence[ObjectId]) -> dict[ObjectId, bool]:
    """Those of the objects that were never committed, and whether each is condemned and listed already."""
    standings = dict(_standings(connection, object_ids))
    uncommitted = {}
    for object_id in object_ids:
        standing = standings.get(object_id)
        if standing is None or standing.kind == CONDEMNED_OBJECT:
            uncommitted[object_id] = standing is not None and standing.is_listed
    return uncommitted


def condemn_objects(
    connection: sqlite3.Connection, *, object_ids: Sequence[ObjectId], now_ms: int
) -> list[ObjectId]:
    connection.executemany(_CONDEMN, [(object_id, CONDEMNED_OBJECT, now_ms) for object_id in object_ids])
    return list(without_commit(connection, object_ids))


def forget_objects(
    connection: sqlite3.Connection, *, object_ids: Sequence[ObjectId], repeated_after_ms: int
) -> int:
    """Commits that were first made before `repeated_after_ms` are not expected to be repeated any more."""
    count = connection.executemany(_FORGET, [(object_id,) for object_id in object_ids]).rowcount
    bounds = (repeated_after_ms, 2 * len(object_ids))
    # Numbers can be given out again, and then must not meet an old answer.
    connection.execute(f"DELETE FROM commit_answers WHERE object_number IN ({_LONG_FORGOTTEN})", bounds)  # noqa: S608 a constant
    connection.execute(f"DELETE FROM objects WHERE object_number IN ({_LONG_FORGOTTEN})", bounds)  # noqa: S608 a constant
    return count


def _standings(
    connection: sqlite3.Connection, object_ids: Sequence[ObjectId]
) -> Iterator[tuple[ObjectId, Standing]]:
    for position in range(0, len(object_ids), _CHUNK):
        chunk: list[bytes | None] = [*object_ids[position : position + _CHUNK]]
        chunk += [None] * (_CHUNK - len(chunk))
        for object_id, kind, is_listed in connection.execute(_STANDINGS, chunk).fetchall():
            yield ObjectId(object_id), Standing(kind, bool(is_listed))

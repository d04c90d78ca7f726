"""Objects that nothing refers to any more."""

import sqlite3

from inkless.coordinator.sqlite.connection import fetch_list
from inkless.coordinator.types import ObjectId, UnreferencedObject

_UNREFERENCED = """
    SELECT json_group_array(json_array(hex(object_id), object_key, byte_length, unreferenced_since_ms)) FROM (
        SELECT * FROM objects WHERE unreferenced_since_ms < ? ORDER BY unreferenced_since_ms LIMIT ?)
"""


def unreferenced_objects(
    connection: sqlite3.Connection, *, since_before_ms: int, count_max: int
) -> list[UnreferencedObject]:
    return [
        UnreferencedObject(ObjectId(bytes.fromhex(object_id)), key, byte_length, since_ms)
        for object_id, key, byte_length, since_ms in fetch_list(
            connection, _UNREFERENCED, (since_before_ms, count_max)
        )
    ]

"""Leases of the work that one broker at a time does for all."""

import sqlite3

_ACQUIRE = """
    INSERT INTO duties VALUES (?1, ?2, ?3) ON CONFLICT (duty) DO UPDATE
    SET holder = excluded.holder, lease_end_ms = excluded.lease_end_ms
    WHERE holder = excluded.holder OR lease_end_ms <= ?4
"""


def acquire_duty(
    connection: sqlite3.Connection, *, duty: str, holder: bytes, lease_ms: int, now_ms: int
) -> bool:
    return connection.execute(_ACQUIRE, (duty, holder, now_ms + lease_ms, now_ms)).rowcount == 1


def release_duty(connection: sqlite3.Connection, *, duty: str, holder: bytes) -> None:
    connection.execute("DELETE FROM duties WHERE duty = ? AND holder = ?", (duty, holder))

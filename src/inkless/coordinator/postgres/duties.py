"""Leases of the work that one broker at a time does for all."""

from inkless.coordinator.postgres.connections import Connection

_ACQUIRE = """
    INSERT INTO duties AS d VALUES ($1, $2, $3) ON CONFLICT (duty) DO UPDATE
    SET holder = excluded.holder, lease_end_ms = excluded.lease_end_ms
    WHERE d.holder = excluded.holder OR d.lease_end_ms <= $4
    RETURNING 1
"""


async def acquire_duty(
    connection: Connection, duty: str, holder: bytes, *, lease_ms: int, now_ms: int
) -> bool:
    return await connection.fetchval(_ACQUIRE, duty, holder, now_ms + lease_ms, now_ms) is not None


async def release_duty(connection: Connection, duty: str, holder: bytes) -> None:
    await connection.execute("DELETE FROM duties WHERE duty = $1 AND holder = $2", duty, holder)

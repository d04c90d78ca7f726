"""Expiry of the producers that nobody uses.

There is no index by their last use: every commit of an idempotent producer would have to move its entry. They
are looked for without a lock, and those that were used meanwhile stay.
"""

from collections.abc import Sequence

from inkless.coordinator.append import ProducerKey
from inkless.coordinator.postgres.connections import Connection

_UNUSED = "SELECT partition_key, producer_id FROM producers WHERE used_ms < $1 LIMIT $2"
_FORGET = """
    WITH forgotten AS (
        DELETE FROM producers AS p USING unnest($1::bigint[], $2::bigint[]) AS w (partition_key, producer_id)
        WHERE p.partition_key = w.partition_key AND p.producer_id = w.producer_id AND p.used_ms < $3
        RETURNING 1)
    SELECT count(*) FROM forgotten
"""


async def find_unused(connection: Connection, *, unused_before_ms: int, count_max: int) -> list[ProducerKey]:
    return [ProducerKey(*row) for row in await connection.fetch(_UNUSED, unused_before_ms, count_max)]


async def forget_unused(connection: Connection, keys: Sequence[ProducerKey], *, unused_before_ms: int) -> int:
    """Under the lock of the logs."""
    count = await connection.fetchval(
        _FORGET, [key.partition_key for key in keys], [key.producer_id for key in keys], unused_before_ms
    )
    return int(count)

"""What there is once in a cluster: its id, the version of its metadata, the next producer id."""

import base64

from inkless.clock import Entropy
from inkless.coordinator.postgres.connections import Connection

_ALLOCATE = """
    UPDATE cluster SET next_producer_id = next_producer_id + $1::bigint
    RETURNING next_producer_id - $1::bigint
"""


async def ensure_cluster(connection: Connection, entropy: Entropy) -> None:
    """Makes the row at the first start."""
    cluster_id = base64.urlsafe_b64encode(entropy.new_id()).decode().rstrip("=")
    await connection.execute(
        "INSERT INTO cluster VALUES (1, $1, 0, 0) ON CONFLICT (singleton) DO NOTHING", cluster_id
    )


async def read_cluster_id(connection: Connection) -> str:
    return str(await connection.fetchval("SELECT cluster_id FROM cluster"))


async def read_metadata_version(connection: Connection) -> int:
    return int(await connection.fetchval("SELECT metadata_version FROM cluster"))


async def bump_metadata_version(connection: Connection) -> None:
    await connection.execute("UPDATE cluster SET metadata_version = metadata_version + 1")


async def allocate_producer_ids(connection: Connection, count: int) -> int:
    return int(await connection.fetchval(_ALLOCATE, count))

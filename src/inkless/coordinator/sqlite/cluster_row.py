"""What there is once in a cluster: its id, the version of its metadata, the next producer id."""

import base64
import sqlite3

from inkless.clock import Entropy


def ensure_cluster(connection: sqlite3.Connection, entropy: Entropy) -> None:
    """Makes the row at the first start; within a write transaction."""
    cluster_id = base64.urlsafe_b64encode(entropy.new_id()).decode().rstrip("=")
    connection.execute("INSERT OR IGNORE INTO cluster VALUES (1, ?, 0, 0)", (cluster_id,))


def read_cluster_id(connection: sqlite3.Connection) -> str:
    return str(connection.execute("SELECT cluster_id FROM cluster").fetchone()[0])


def read_metadata_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT metadata_version FROM cluster").fetchone()[0])


def bump_metadata_version(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE cluster SET metadata_version = metadata_version + 1")


def allocate_producer_ids(connection: sqlite3.Connection, count: int) -> int:
    (end,) = connection.execute(
        "UPDATE cluster SET next_producer_id = next_producer_id + ? RETURNING next_producer_id", (count,)
    ).fetchone()
    return int(end) - count

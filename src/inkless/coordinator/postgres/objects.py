"""Objects that nothing refers to: listed for deletion, condemned before they can be committed, forgotten.

`unreferenced_since_ms` is set while an object is to be deleted. A row without runs and without that time is
what remains of one that is gone; it tells a commit that is repeated late that it is a repetition.
"""

from collections.abc import Sequence

from inkless.coordinator.postgres.commit import CONDEMNED_OBJECT
from inkless.coordinator.postgres.connections import Connection
from inkless.coordinator.types import ObjectId, UnreferencedObject

_UNREFERENCED = """
    SELECT object_id, object_key, byte_length, unreferenced_since_ms FROM objects
    WHERE unreferenced_since_ms < $1 ORDER BY unreferenced_since_ms, object_number LIMIT $2
"""
_STANDINGS = """
    SELECT object_id, kind, unreferenced_since_ms IS NOT NULL FROM objects WHERE object_id = ANY ($1::bytea[])
"""
# An upload that arrives after the deletion brings a condemned object back, so it is listed once more.
_CONDEMN = """
    INSERT INTO objects AS o (object_id, object_key, byte_length, broker_id, kind, committed_ms, run_count,
        unreferenced_since_ms)
    SELECT object_id, '', 0, -1, $2::smallint, $3::bigint, 0, $3::bigint
    FROM unnest($1::bytea[]) AS w (object_id)
    ON CONFLICT (object_id) DO UPDATE SET unreferenced_since_ms = excluded.unreferenced_since_ms
    WHERE o.kind = $2::smallint AND o.unreferenced_since_ms IS NULL
"""
_FORGET = """
    WITH forgotten AS (
        UPDATE objects SET unreferenced_since_ms = NULL, object_key = '', byte_length = 0
        WHERE object_id = ANY ($1::bytea[]) AND unreferenced_since_ms IS NOT NULL AND run_count = 0
        RETURNING 1)
    SELECT count(*) FROM forgotten
"""
_REMOVE_LONG_FORGOTTEN = """
    WITH removed AS (
        DELETE FROM objects WHERE object_number = ANY (ARRAY (
            SELECT object_number FROM objects
            WHERE run_count = 0 AND unreferenced_since_ms IS NULL AND kind < 2 AND committed_ms < $1
            ORDER BY committed_ms LIMIT $2))
        RETURNING object_number)
    DELETE FROM commit_answers WHERE object_number IN (SELECT object_number FROM removed)
"""


async def unreferenced_objects(
    connection: Connection, *, since_before_ms: int, count_max: int
) -> list[UnreferencedObject]:
    rows = await connection.fetch(_UNREFERENCED, since_before_ms, count_max)
    return [UnreferencedObject(*row) for row in rows]


async def without_commit(connection: Connection, object_ids: Sequence[ObjectId]) -> dict[ObjectId, bool]:
    """Those of the objects that were never committed, and whether each is condemned and listed already."""
    standings = {
        object_id: (kind, is_listed)
        for object_id, kind, is_listed in await connection.fetch(_STANDINGS, object_ids)
    }
    unknown = (CONDEMNED_OBJECT, False)
    return {
        object_id: standings.get(object_id, unknown)[1]
        for object_id in object_ids
        if standings.get(object_id, unknown)[0] == CONDEMNED_OBJECT
    }


async def condemn_objects(
    connection: Connection, object_ids: Sequence[ObjectId], *, now_ms: int
) -> list[ObjectId]:
    """Under the lock of the logs, so that no commit of them is under way."""
    await connection.execute(_CONDEMN, sorted(set(object_ids)), CONDEMNED_OBJECT, now_ms)
    return list(await without_commit(connection, object_ids))


async def forget_objects(
    connection: Connection, object_ids: Sequence[ObjectId], *, repeated_after_ms: int
) -> int:
    """Under the lock of the logs. Commits that were first made before `repeated_after_ms` are not expected to
    be repeated any more."""
    count = await connection.fetchval(_FORGET, object_ids)
    await connection.execute(_REMOVE_LONG_FORGOTTEN, repeated_after_ms, 2 * len(object_ids))
    return int(count)

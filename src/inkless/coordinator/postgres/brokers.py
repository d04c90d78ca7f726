"""Brokers: their leases and their dynamic configs; changed under the lock of the metadata."""

import json
from collections.abc import Mapping

from inkless.coordinator.metadata_rules import StoredRegistration, merge_configs, registered
from inkless.coordinator.postgres.cluster_row import bump_metadata_version
from inkless.coordinator.postgres.connections import Connection
from inkless.coordinator.types import BrokerRegistration, Listener

_CLUSTER_DEFAULT = -1

_BROKER = "SELECT incarnation, rack, listeners, lease_end_ms FROM brokers WHERE broker_id = $1"
_PUT_BROKER = """
    INSERT INTO brokers VALUES ($1, $2, $3, $4, $5) ON CONFLICT (broker_id) DO UPDATE
    SET incarnation = excluded.incarnation, rack = excluded.rack, listeners = excluded.listeners,
        lease_end_ms = excluded.lease_end_ms
"""
_LIVING_BROKERS = """
    SELECT broker_id, incarnation, rack, listeners FROM brokers WHERE lease_end_ms > $1 ORDER BY broker_id
"""
_PUT_CONFIGS = """
    INSERT INTO broker_configs VALUES ($1, $2)
    ON CONFLICT (broker_id) DO UPDATE SET configs = excluded.configs
"""


async def register_broker(
    connection: Connection, broker: BrokerRegistration, *, lease_ms: int, now_ms: int
) -> None:
    row = await connection.fetchrow(_BROKER, broker.broker_id)
    before = None if row is None else StoredRegistration(*row)
    after, is_news = registered(before, broker, lease_ms=lease_ms, now_ms=now_ms)
    await connection.execute(_PUT_BROKER, broker.broker_id, *after)
    if is_news:
        await bump_metadata_version(connection)


async def deregister_broker(connection: Connection, broker_id: int, incarnation: bytes) -> None:
    removed = await connection.fetchval(
        "DELETE FROM brokers WHERE broker_id = $1 AND incarnation = $2 RETURNING 1", broker_id, incarnation
    )
    if removed:
        await bump_metadata_version(connection)


async def living_brokers(connection: Connection, *, now_ms: int) -> list[BrokerRegistration]:
    return [
        BrokerRegistration(
            broker_id, incarnation, rack, [Listener(**listener) for listener in json.loads(listeners)]
        )
        for broker_id, incarnation, rack, listeners in await connection.fetch(_LIVING_BROKERS, now_ms)
    ]


async def broker_configs(connection: Connection) -> dict[int | None, Mapping[str, str]]:
    rows = await connection.fetch("SELECT broker_id, configs FROM broker_configs ORDER BY broker_id")
    return {
        None if broker_id == _CLUSTER_DEFAULT else broker_id: json.loads(configs)
        for broker_id, configs in rows
    }


async def alter_broker_configs(
    connection: Connection, broker_id: int | None, changes: Mapping[str, str | None]
) -> None:
    row_id = _CLUSTER_DEFAULT if broker_id is None else broker_id
    written = await connection.fetchval("SELECT configs FROM broker_configs WHERE broker_id = $1", row_id)
    present: dict[str, str] = {} if written is None else json.loads(written)
    merged = merge_configs(present, changes)
    if merged == present:
        return
    if merged:
        await connection.execute(_PUT_CONFIGS, row_id, json.dumps(merged))
    else:
        await connection.execute("DELETE FROM broker_configs WHERE broker_id = $1", row_id)
    await bump_metadata_version(connection)

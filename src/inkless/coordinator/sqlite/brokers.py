"""Brokers: their leases and their dynamic configs."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from inkless.coordinator.metadata_rules import StoredRegistration, merge_configs, registered
from inkless.coordinator.sqlite.cluster_row import bump_metadata_version
from inkless.coordinator.sqlite.connection import fetch_list
from inkless.coordinator.types import BrokerRegistration, Listener

_CLUSTER_DEFAULT = -1

_BROKER = "SELECT incarnation, rack, listeners, lease_end_ms FROM brokers WHERE broker_id = ?"
_LIVING_BROKERS = """
    SELECT json_group_array(json_array(broker_id, hex(incarnation), rack, json(listeners)))
    FROM (SELECT * FROM brokers WHERE lease_end_ms > ? ORDER BY broker_id)
"""


def register_broker(
    connection: sqlite3.Connection, broker: BrokerRegistration, *, lease_ms: int, now_ms: int
) -> None:
    row: tuple[Any, ...] | None = connection.execute(_BROKER, (broker.broker_id,)).fetchone()
    before = None if row is None else StoredRegistration(*row)
    after, is_news = registered(before, broker, lease_ms=lease_ms, now_ms=now_ms)
    connection.execute("INSERT OR REPLACE INTO brokers VALUES (?, ?, ?, ?, ?)", (broker.broker_id, *after))
    if is_news:
        bump_metadata_version(connection)


def deregister_broker(connection: sqlite3.Connection, broker_id: int, incarnation: bytes) -> None:
    removed = connection.execute(
        "DELETE FROM brokers WHERE broker_id = ? AND incarnation = ?", (broker_id, incarnation)
    )
    if removed.rowcount:
        bump_metadata_version(connection)


def living_brokers(connection: sqlite3.Connection, *, now_ms: int) -> list[BrokerRegistration]:
    return [
        BrokerRegistration(
            broker_id, bytes.fromhex(incarnation), rack, [Listener(**listener) for listener in listeners]
        )
        for broker_id, incarnation, rack, listeners in fetch_list(connection, _LIVING_BROKERS, (now_ms,))
    ]


def broker_configs(connection: sqlite3.Connection) -> dict[int | None, Mapping[str, str]]:
    rows = connection.execute("SELECT broker_id, configs FROM broker_configs ORDER BY broker_id").fetchall()
    return {
        None if broker_id == _CLUSTER_DEFAULT else broker_id: json.loads(configs)
        for broker_id, configs in rows
    }


def alter_broker_configs(
    connection: sqlite3.Connection, broker_id: int | None, changes: Mapping[str, str | None]
) -> None:
    row_id = _CLUSTER_DEFAULT if broker_id is None else broker_id
    row = connection.execute("SELECT configs FROM broker_configs WHERE broker_id = ?", (row_id,)).fetchone()
    present: dict[str, str] = {} if row is None else json.loads(row[0])
    merged = merge_configs(present, changes)
    if merged == present:
        return
    if merged:
        connection.execute(
            "INSERT OR REPLACE INTO broker_configs VALUES (?, ?)", (row_id, json.dumps(merged))
        )
    else:
        connection.execute("DELETE FROM broker_configs WHERE broker_id = ?", (row_id,))
    bump_metadata_version(connection)

"""Expiry of the producers that nobody uses.

There is no index by their last use: every commit of an idempotent producer would have to move its entry. They
are looked through in the order of the key instead, on the reading side, a bounded number at a time.
"""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from inkless.coordinator.append import ProducerKey
from inkless.coordinator.sqlite.connection import fetch_list

_LOOKED_AT_ONCE_MAX = 10_000

_NEXT_PRODUCERS = """
    SELECT json_group_array(json_array(partition_key, producer_id, used_ms < ?)) FROM (
        SELECT partition_key, producer_id, used_ms FROM producers
        WHERE (partition_key, producer_id) > (?, ?) ORDER BY partition_key, producer_id LIMIT ?)
"""
_FORGET = "DELETE FROM producers WHERE partition_key = ? AND producer_id = ? AND used_ms < ?"

BEFORE_THE_FIRST = ProducerKey(-1, -1)


class UnusedProducers(NamedTuple):
    """Those found in one look, and where the next look begins; None at the end of the table."""

    keys: Sequence[ProducerKey]
    next_after: ProducerKey | None


def find_unused(
    connection: sqlite3.Connection, *, after: ProducerKey, unused_before_ms: int
) -> UnusedProducers:
    rows = fetch_list(connection, _NEXT_PRODUCERS, (unused_before_ms, *after, _LOOKED_AT_ONCE_MAX))
    unused = [
        ProducerKey(partition_key, producer_id) for partition_key, producer_id, is_unused in rows if is_unused
    ]
    is_end = len(rows) < _LOOKED_AT_ONCE_MAX
    return UnusedProducers(unused, None if is_end else ProducerKey(*rows[-1][:2]))


def forget_unused(
    connection: sqlite3.Connection, *, keys: Sequence[ProducerKey], unused_before_ms: int
) -> int:
    """Those that were used since they were found stay."""
    return connection.executemany(_FORGET, [(*key, unused_before_ms) for key in keys]).rowcount

"""What the writer remembers between its transactions, so that a commit reads next to nothing.

It is valid as long as nobody else changed the database, which SQLite tells within a transaction
(`data_version`). Our own transactions keep it up to date, or forget it.
"""

import json
import sqlite3
from collections.abc import Iterable

from inkless.coordinator.append import LogTail, ProducerKey
from inkless.coordinator.producer_state import ProducerState, unpack_batches
from inkless.coordinator.sqlite.connection import fetch_list
from inkless.coordinator.sqlite.partition_keys import PartitionKeys
from inkless.coordinator.types import NO_PRODUCER_ID, ObjectCommit, PartitionId

_TAILS = """
    SELECT json_group_array(json_array(
        partition_key, log_start_offset, high_watermark, byte_length, max_timestamp_ms))
    FROM logs WHERE partition_key IN (SELECT value FROM json_each(?))
"""
_PRODUCERS = """
    SELECT json_group_array(json_array(p.partition_key, p.producer_id, p.epoch, hex(p.batches)))
    FROM json_each(?) AS wanted CROSS JOIN producers AS p
    ON p.partition_key = json_extract(wanted.value, '$[0]')
        AND p.producer_id = json_extract(wanted.value, '$[1]')
"""
_LAST_OBJECT_NUMBER = "SELECT coalesce(max(object_number), 0) FROM objects"


class LogCache:
    """Log tails, producer states and the last object number, as of the running write transaction."""

    def __init__(self, connection: sqlite3.Connection, *, entries_max: int) -> None:
        self._connection = connection
        self._entries_max = entries_max
        self._keys = PartitionKeys(connection, entries_max=entries_max)
        self._data_version = -1
        self.tails: dict[PartitionId, LogTail] = {}
        self.producers: dict[ProducerKey, ProducerState | None] = {}
        self._last_object_number: int | None = None

    def forget(self) -> None:
        self.tails.clear()
        self.producers.clear()
        self._last_object_number = None

    def refresh(self) -> None:
        """Called first in every transaction that uses the cache."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version != self._data_version or len(self.tails) + len(self.producers) > self._entries_max:
            self.forget()
            self._data_version = version

    def load(self, objects: Iterable[ObjectCommit]) -> None:
        """Makes sure that all logs and producers of the objects are there, if they exist at all."""
        runs = [run for commit in objects for run in commit.runs]
        self.load_tails({run.partition for run in runs if run.partition not in self.tails})
        missing: set[ProducerKey] = set()
        for run in runs:
            tail = self.tails.get(run.partition)
            if tail is None:
                continue
            for batch in run.batches:
                if batch[3] != NO_PRODUCER_ID:
                    key = ProducerKey(tail.partition_key, batch[3])
                    if key not in self.producers:
                        missing.add(key)
        if missing:
            self._load_producers(missing)

    def load_tails(self, partitions: Iterable[PartitionId]) -> None:
        keys = self._keys.find(partitions)
        if not keys:
            return
        partition_by_key = {key: partition for partition, key in keys.items()}
        for row in fetch_list(self._connection, _TAILS, (json.dumps(list(partition_by_key)),)):
            tail = LogTail(*row)
            self.tails[partition_by_key[tail.partition_key]] = tail

    def _load_producers(self, keys: Iterable[ProducerKey]) -> None:
        wanted = list(keys)
        self.producers.update(dict.fromkeys(wanted))
        rows = fetch_list(self._connection, _PRODUCERS, (json.dumps(wanted),))
        for partition_key, producer_id, epoch, batches in rows:
            state = ProducerState(epoch, unpack_batches(bytes.fromhex(batches)))
            self.producers[ProducerKey(partition_key, producer_id)] = state

    def next_object_number(self) -> int:
        if self._last_object_number is None:
            (self._last_object_number,) = self._connection.execute(_LAST_OBJECT_NUMBER).fetchone()
        self._last_object_number += 1
        return self._last_object_number

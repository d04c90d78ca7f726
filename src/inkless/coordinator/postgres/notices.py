"""Commits told to the other brokers, so that their parked readers wake without polling.

A notice travels with its transaction: it is sent when the commit is visible, and not at all when it fails. It
is a hint, never the truth: notices are lost while the listening connection is down, and after such a time
listeners are told that anything may have changed.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

import asyncpg

from inkless.clock import Clock, TaskOwner
from inkless.coordinator.postgres.connections import connect
from inkless.coordinator.postgres.errors import translated_errors
from inkless.coordinator.postgres.settings import PostgresSettings
from inkless.coordinator.types import PartitionId, TopicId
from inkless.errors import InklessError

log = logging.getLogger(__name__)

CHANNEL = "inkless_commits"
_NOTICE_LENGTH_MAX = 7_900
"""PostgreSQL refuses 8,000 bytes and more."""

CommitCallback = Callable[[Sequence[PartitionId] | None], None]


def pack_notice(sender: str, partitions: Sequence[PartitionId]) -> str:
    """`sender|shard.topic.index,index|…`; without the sender's partitions when they are too many."""
    parts = [sender]
    for (shard, topic_id), group in groupby(sorted(partitions), key=lambda partition: partition[:2]):
        parts.append(f"{shard}.{topic_id.hex()}.{','.join(str(partition[2]) for partition in group)}")
    packed = "|".join(parts)
    return packed if len(packed) <= _NOTICE_LENGTH_MAX else sender


def unpack_notice(notice: str) -> tuple[str, list[PartitionId] | None]:
    """The sender and its partitions; None when there were too many, or when it is nothing that we know."""
    sender, *parts = notice.split("|")
    partitions = []
    try:
        for part in parts:
            shard, topic_id, indexes = part.split(".")
            partitions += [
                PartitionId(int(shard), TopicId(bytes.fromhex(topic_id)), int(index))
                for index in indexes.split(",")
            ]
    except ValueError:
        return sender, None
    return sender, partitions or None


class CommitNotices:
    """Listens on a connection of its own from the first subscription on."""

    def __init__(self, settings: PostgresSettings, clock: Clock, *, sender: str) -> None:
        self._settings = settings
        self._clock = clock
        self._sender = sender
        self._callbacks: list[CommitCallback] = []
        self._listener = TaskOwner("commit notices", tasks_max=1)

    def subscribe(self, callback: CommitCallback) -> None:
        self._callbacks.append(callback)
        if not self._listener:
            self._listener.spawn(self._listen())

    async def close(self) -> None:
        await self._listener.close()

    async def _listen(self) -> None:
        while True:
            try:
                with translated_errors():
                    await self._listen_once()
            except InklessError as error:
                log.warning("commits of other brokers are not heard of: %s", error)
            await self._clock.sleep(self._settings.listen_retry_ms / 1000)

    async def _listen_once(self) -> None:
        """Until the connection is lost."""
        connection = await connect(self._settings)
        lost = asyncio.Event()
        try:
            connection.add_termination_listener(lambda _: lost.set())
            await connection.add_listener(CHANNEL, self._on_notice)
            # What was committed before cannot have been heard of.
            self._tell(None)
            while not lost.is_set():
                await self._check_when_silent(connection, lost)
        finally:
            with suppress(asyncpg.InterfaceError):
                connection.terminate()

    async def _check_when_silent(self, connection: "asyncpg.Connection[Any]", lost: asyncio.Event) -> None:
        """A network that swallows everything does not say that it does."""
        try:
            async with asyncio.timeout(self._settings.listen_check_ms / 1000):
                await lost.wait()
        except TimeoutError:
            await connection.execute("SELECT 1", timeout=self._settings.connect_timeout_ms / 1000)

    def _on_notice(self, _connection: Any, _pid: int, _channel: str, payload: object) -> None:
        sender, partitions = unpack_notice(str(payload))
        if sender != self._sender:
            self._tell(partitions)

    def _tell(self, partitions: Sequence[PartitionId] | None) -> None:
        for callback in self._callbacks:
            try:
                callback(partitions)
            except Exception:
                # The others, and the listening itself, must outlive one subscriber's bug.
                log.exception("a subscriber failed to hear of commits")

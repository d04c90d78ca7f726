"""The writing side: what runs in the thread that owns the writing connection."""

import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Generic, TypeVar

from inkless.clock import Clock
from inkless.coordinator.sqlite.commit import Committer
from inkless.coordinator.sqlite.connection import WriteLock, translated_errors, write_transaction
from inkless.coordinator.sqlite.log_cache import LogCache
from inkless.coordinator.sqlite.settings import SqliteSettings
from inkless.coordinator.sqlite.trim import move_log_starts
from inkless.coordinator.types import DeleteRecordsRequest, DeleteRecordsResult, ObjectCommit
from inkless.errors import RequestError, Unavailable

log = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Commit:
    """Objects of one call; neighbouring commits share a transaction."""

    objects: Sequence[ObjectCommit]


@dataclass(frozen=True, slots=True)
class Change(Generic[_Answer]):
    """Anything else that writes, in a transaction of its own."""

    carry_out: Callable[[sqlite3.Connection], _Answer]


@dataclass(frozen=True, slots=True)
class GroupChange(Generic[_Answer]):
    """A change of consumer groups. It touches no log, so neighbouring ones share a transaction and nothing
    that is remembered of logs becomes untrue. Raises RequestError only before its first write."""

    carry_out: Callable[[sqlite3.Connection], _Answer]


Work = Commit | Change[Any] | GroupChange[Any]


class Writer:
    """Carries out groups of commits and changes, each wholly or not at all."""

    def __init__(
        self, connection: sqlite3.Connection, lock: WriteLock, clock: Clock, settings: SqliteSettings
    ) -> None:
        self._connection = connection
        self._lock = lock
        self._cache = LogCache(connection, entries_max=settings.cached_entries_max)
        self._committer = Committer(
            connection, self._cache, clock, answer_retention_ms=settings.commit_answer_retention_ms
        )

    def execute(self, group: Sequence[Work]) -> list[Any]:
        outcomes: list[Any] = []
        for kind, works in groupby(group, key=type):
            if kind is Commit:
                outcomes += self._commit([work.objects for work in works if isinstance(work, Commit)])
            elif kind is GroupChange:
                outcomes += self._change_groups([work for work in works if isinstance(work, GroupChange)])
            else:
                outcomes += [self._change(work) for work in works if isinstance(work, Change)]
        return outcomes

    def close(self) -> None:
        self._connection.close()
        self._lock.close()

    def delete_records(self, requests: Sequence[DeleteRecordsRequest]) -> list[DeleteRecordsResult]:
        """Moves log starts; part of a change."""
        self._cache.refresh()
        self._cache.load_tails({request.partition for request in requests})
        tails = self._cache.tails
        return move_log_starts(
            self._connection, [(request, tails.get(request.partition)) for request in requests]
        )

    def _commit(self, calls: Sequence[Sequence[ObjectCommit]]) -> Sequence[Any]:
        try:
            with self._transaction():
                return self._committer.commit(calls)
        except Unavailable as error:
            return [error] * len(calls)
        except Exception as error:  # noqa: BLE001 one caller's fault must not fail the others of its group
            if len(calls) == 1:
                return [error]
            return [outcome for call in calls for outcome in self._commit([call])]

    def _change(self, change: Change[_Answer]) -> _Answer | Exception:
        try:
            with self._transaction():
                return change.carry_out(self._connection)
        except Exception as error:  # noqa: BLE001 handed to the caller as it is
            return error
        finally:
            # Our own changes do not show in SQLite's data version.
            self._cache.forget()

    def _change_groups(self, changes: Sequence[GroupChange[Any]]) -> Sequence[Any]:
        try:
            with self._transaction():
                return [self._change_group(change) for change in changes]
        except Unavailable as error:
            return [error] * len(changes)
        except Exception as error:  # noqa: BLE001 one caller's fault must not fail the others of its group
            if len(changes) == 1:
                return [error]
            return [outcome for change in changes for outcome in self._change_groups([change])]

    def _change_group(self, change: GroupChange[_Answer]) -> _Answer | RequestError:
        try:
            return change.carry_out(self._connection)
        except RequestError as error:
            return error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            with translated_errors(), write_transaction(self._connection, self._lock):
                yield
        except BaseException:
            self._cache.forget()
            raise

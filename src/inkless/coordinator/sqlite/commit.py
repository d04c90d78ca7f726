"""The commit of objects inside a write transaction: look up, append, write.

Several callers' objects go through together; the tails that they share are written once.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

from inkless.clock import Clock
from inkless.coordinator.append import LogTail, ProducerKey, RunRow, append_run, refuse_run
from inkless.coordinator.commit_answer import forgotten_answer, pack_answer, unpack_answer
from inkless.coordinator.producer_state import pack_batches
from inkless.coordinator.sqlite.log_cache import LogCache
from inkless.coordinator.sqlite.objects import CONDEMNED_OBJECT, WAL_OBJECT
from inkless.coordinator.sqlite.row_writer import RowWriter
from inkless.coordinator.types import ObjectCommit, ObjectId, RunResult
from inkless.errors import InvariantViolated
from inkless.protocol.error_codes import ErrorCode

_KNOWN_CHUNK = 64
_KNOWN_OBJECTS = f"""
    SELECT o.object_id, o.kind, a.answer FROM objects AS o LEFT JOIN commit_answers AS a USING (object_number)
    WHERE o.object_id IN ({", ".join("?" * _KNOWN_CHUNK)})
"""  # noqa: S608 only placeholders are put in
_INSERT_OBJECTS = RowWriter("INSERT INTO objects", columns=9)
_INSERT_ANSWERS = RowWriter("INSERT INTO commit_answers", columns=3)
_INSERT_RUNS = RowWriter("INSERT INTO runs", columns=9)
_UPDATE_TAILS = RowWriter("INSERT OR REPLACE INTO logs", columns=5)
_UPDATE_PRODUCERS = RowWriter("INSERT OR REPLACE INTO producers", columns=5)
# Oldest first, as the numbers are; looks at no more answers than it may remove.
_FORGET_ANSWERS = """
    DELETE FROM commit_answers WHERE object_number IN (
        SELECT object_number
        FROM (SELECT object_number, committed_ms FROM commit_answers ORDER BY object_number LIMIT ?)
        WHERE committed_ms < ?)
"""


class Committer:
    """Commits objects with the help of what the cache remembers."""

    def __init__(
        self, connection: sqlite3.Connection, cache: LogCache, clock: Clock, *, answer_retention_ms: int
    ) -> None:
        self._connection = connection
        self._cache = cache
        self._clock = clock
        self._answer_retention_ms = answer_retention_ms

    def commit(self, calls: Sequence[Sequence[ObjectCommit]]) -> list[list[list[RunResult]]]:
        """The answers of several calls, in a transaction that the caller has begun and will end."""
        self._cache.refresh()
        commits = {commit.object_id: commit for call in calls for commit in call}
        answers = self._first_answers(commits)
        new = [commit for object_id, commit in commits.items() if object_id not in answers]
        if new:
            self._cache.load(new)
            answers |= _Append(self._connection, self._cache, self._clock.now_ms()).append(new)
            self._connection.execute(
                _FORGET_ANSWERS, (2 * len(new), self._clock.now_ms() - self._answer_retention_ms)
            )
        return [[answers[commit.object_id] for commit in call] for call in calls]

    def _first_answers(self, commits: dict[ObjectId, ObjectCommit]) -> dict[ObjectId, list[RunResult]]:
        ids = list(commits)
        answers = {}
        for position in range(0, len(ids), _KNOWN_CHUNK):
            chunk: list[bytes | None] = [*ids[position : position + _KNOWN_CHUNK]]
            chunk += [None] * (_KNOWN_CHUNK - len(chunk))
            for object_id, kind, answer in self._connection.execute(_KNOWN_OBJECTS, chunk).fetchall():
                answers[object_id] = _answer_again(commits[object_id], kind, answer)
        return answers


class _Append:
    """The appends of one transaction: everything is worked out first, then written with few statements."""

    def __init__(self, connection: sqlite3.Connection, cache: LogCache, now_ms: int) -> None:
        self._connection = connection
        self._cache = cache
        self._now_ms = now_ms
        self._objects: list[tuple[Any, ...]] = []
        self._answers: list[tuple[int, int, bytes]] = []
        self._runs: list[tuple[Any, ...]] = []
        self._tails: dict[int, LogTail] = {}
        self._producers: set[ProducerKey] = set()

    def append(self, commits: Sequence[ObjectCommit]) -> dict[ObjectId, list[RunResult]]:
        answers = {commit.object_id: self._append_object(commit) for commit in commits}
        self._write()
        return answers

    def _append_object(self, commit: ObjectCommit) -> list[RunResult]:
        number = self._cache.next_object_number()
        results: list[RunResult] = []
        runs_before = len(self._runs)
        for run in commit.runs:
            tail = self._cache.tails.get(run.partition)
            if tail is None:
                results.append(refuse_run(run, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
                continue
            result, rows = append_run(tail, run, self._cache.producers, self._producers)
            results.append(result)
            if rows:
                self._tails[tail.partition_key] = tail
                self._runs += [_run_columns(row, number) for row in rows]
        run_count = len(self._runs) - runs_before
        self._objects.append(
            (
                number,
                commit.object_id,
                commit.key,
                commit.byte_length,
                commit.broker_id,
                WAL_OBJECT,
                self._now_ms,
                run_count,
                None if run_count else self._now_ms,
            )
        )
        self._answers.append((number, self._now_ms, pack_answer(results)))
        return results

    def _write(self) -> None:
        connection = self._connection
        _INSERT_OBJECTS.write(connection, self._objects)
        _INSERT_ANSWERS.write(connection, self._answers)
        _INSERT_RUNS.write(connection, sorted(self._runs))
        _UPDATE_TAILS.write(connection, [_tail_columns(self._tails[key]) for key in sorted(self._tails)])
        _UPDATE_PRODUCERS.write(connection, [self._producer_columns(key) for key in sorted(self._producers)])

    def _producer_columns(self, key: ProducerKey) -> tuple[Any, ...]:
        state = self._cache.producers[key]
        if state is None:
            raise InvariantViolated(f"{key} was changed, but has no state")
        return (*key, state.epoch, pack_batches(state.batches), self._now_ms)


def _answer_again(commit: ObjectCommit, kind: int, answer: bytes | None) -> list[RunResult]:
    if kind == CONDEMNED_OBJECT:
        return [refuse_run(run, ErrorCode.KAFKA_STORAGE_ERROR) for run in commit.runs]
    return forgotten_answer(commit) if answer is None else unpack_answer(answer, commit)


def _run_columns(row: RunRow, object_number: int) -> tuple[Any, ...]:
    return (*row, object_number)


def _tail_columns(tail: LogTail) -> tuple[int, ...]:
    return (
        tail.partition_key,
        tail.log_start_offset,
        tail.high_watermark,
        tail.byte_length,
        tail.max_timestamp_ms,
    )

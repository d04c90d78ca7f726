"""The commit of objects: look up, append, write, in one transaction under the lock of the logs.

Several callers' objects go through together. A transaction takes four round trips however many objects it
has: begin and lock, one statement that reads, one that writes, commit.
"""

from collections.abc import Sequence
from typing import Any

from inkless.clock import Clock
from inkless.coordinator.append import LogTail, ProducerKey, ProducerStates, RunRow, append_run, refuse_run
from inkless.coordinator.commit_answer import forgotten_answer, pack_answer, unpack_answer
from inkless.coordinator.postgres.connections import Connection, Lock, Pool
from inkless.coordinator.postgres.notices import CHANNEL, pack_notice
from inkless.coordinator.postgres.settings import PostgresSettings
from inkless.coordinator.producer_state import ProducerState, pack_batches, unpack_batches
from inkless.coordinator.types import NO_PRODUCER_ID, ObjectCommit, ObjectId, PartitionId, RunResult
from inkless.errors import InvariantViolated, Unavailable
from inkless.protocol.error_codes import ErrorCode

WAL_OBJECT = 0
CONDEMNED_OBJECT = 2

_OBJECT_ROW, _LOG_ROW = 0, 1

# Three kinds of rows in one answer: objects that are known, log tails, producers. `position` counts from one
# in the arrays that name them.
_READ = """
    SELECT 0 AS row_kind, w.position, o.kind::bigint AS a, 0::bigint AS b, 0::bigint AS c, 0::bigint AS d,
        0::bigint AS e, a.answer AS packed
    FROM unnest($1::bytea[]) WITH ORDINALITY AS w (object_id, position)
    JOIN objects AS o USING (object_id) LEFT JOIN commit_answers AS a USING (object_number)
    UNION ALL
    SELECT 1, w.position, l.partition_key, l.log_start_offset, l.high_watermark, l.byte_length,
        l.max_timestamp_ms, NULL
    FROM unnest($2::integer[], $3::bytea[], $4::integer[]) WITH ORDINALITY
        AS w (shard, topic_id, partition_index, position)
    JOIN partitions AS p USING (shard, topic_id, partition_index) JOIN logs AS l USING (partition_key)
    UNION ALL
    SELECT 2, 0, p.partition_key, s.producer_id, s.epoch, 0, 0, s.batches
    FROM unnest($5::integer[], $6::bytea[], $7::integer[], $8::bigint[])
        AS w (shard, topic_id, partition_index, producer_id)
    JOIN partitions AS p USING (shard, topic_id, partition_index)
    JOIN producers AS s ON s.partition_key = p.partition_key AND s.producer_id = w.producer_id
"""
# Of the first answers no more are looked at than may be removed, oldest first, as the numbers are.
_WRITE = """
    WITH new_objects AS (
        INSERT INTO objects (object_id, object_key, byte_length, broker_id, kind, committed_ms, run_count,
            unreferenced_since_ms)
        SELECT object_id, object_key, byte_length, broker_id, 0, $1::bigint, run_count,
            CASE WHEN run_count = 0 THEN $1::bigint END
        FROM unnest($2::bytea[], $3::text[], $4::bigint[], $5::integer[], $6::integer[]) WITH ORDINALITY
            AS w (object_id, object_key, byte_length, broker_id, run_count, position)
        ORDER BY position
        RETURNING object_number, object_id
    ), new_answers AS (
        INSERT INTO commit_answers
        SELECT n.object_number, $1::bigint, w.answer
        FROM new_objects AS n JOIN unnest($2::bytea[], $7::bytea[]) AS w (object_id, answer) USING (object_id)
    ), new_runs AS (
        INSERT INTO runs (partition_key, last_offset, base_offset, byte_start, byte_length, max_timestamp_ms,
            running_max_timestamp_ms, batch_index, object_id, object_key, object_byte_length, committed_ms,
            kind)
        SELECT w.partition_key, w.last_offset, w.base_offset, w.byte_start, w.byte_length, w.max_timestamp_ms,
            w.running_max_timestamp_ms, w.batch_index, ($2::bytea[])[w.object_position],
            ($3::text[])[w.object_position], ($4::bigint[])[w.object_position], $1::bigint, 0
        FROM unnest($8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[],
            $14::bigint[], $15::bytea[], $16::integer[])
            AS w (partition_key, last_offset, base_offset, byte_start, byte_length, max_timestamp_ms,
                running_max_timestamp_ms, batch_index, object_position)
    ), moved_tails AS (
        UPDATE logs AS l SET high_watermark = w.high_watermark, max_timestamp_ms = w.max_timestamp_ms,
            byte_length = l.byte_length + w.bytes_added
        FROM unnest($17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[])
            AS w (partition_key, high_watermark, max_timestamp_ms, bytes_added)
        WHERE l.partition_key = w.partition_key
    ), changed_producers AS (
        INSERT INTO producers AS p (partition_key, producer_id, epoch, batches, used_ms)
        SELECT w.partition_key, w.producer_id, w.epoch, w.batches, $1::bigint
        FROM unnest($21::bigint[], $22::bigint[], $23::integer[], $24::bytea[])
            AS w (partition_key, producer_id, epoch, batches)
        ON CONFLICT (partition_key, producer_id) DO UPDATE
        SET epoch = excluded.epoch, batches = excluded.batches, used_ms = excluded.used_ms
    ), forgotten_answers AS (
        DELETE FROM commit_answers WHERE object_number = ANY (ARRAY (
            SELECT object_number
            FROM (SELECT object_number, committed_ms FROM commit_answers ORDER BY object_number LIMIT $25)
                AS oldest
            WHERE committed_ms < $26::bigint))
    )
    SELECT pg_notify($27::text, $28::text)
"""


class Committer:
    """Commits the objects of several calls in one transaction."""

    def __init__(self, pool: Pool, clock: Clock, settings: PostgresSettings, *, sender: str) -> None:
        self._pool = pool
        self._clock = clock
        self._answer_retention_ms = settings.commit_answer_retention_ms
        self._sender = sender

    async def commit(self, calls: Sequence[Sequence[ObjectCommit]]) -> Sequence[Any]:
        """For each call its answer or its error."""
        commits = {commit.object_id: commit for call in calls for commit in call}
        if not commits:
            return [[] for _ in calls]
        try:
            answers = await self._pool.transact(
                lambda connection: self._commit(connection, list(commits.values())), locks=[Lock.LOGS]
            )
        except Unavailable as error:
            return [error] * len(calls)
        except Exception as error:  # noqa: BLE001 one caller's fault must not fail the others of its group
            if len(calls) == 1:
                return [error]
            return [outcome for call in calls for outcome in await self.commit([call])]
        return [[answers[commit.object_id] for commit in call] for call in calls]

    async def _commit(
        self, connection: Connection, commits: Sequence[ObjectCommit]
    ) -> dict[ObjectId, list[RunResult]]:
        state = await _read_state(connection, commits)
        new = [commit for commit in commits if commit.object_id not in state.answers]
        if not new:
            return state.answers
        now_ms = self._clock.now_ms()
        append = _Append(state)
        answers = append.append(new)
        notice = pack_notice(self._sender, append.changed_partitions)
        await connection.fetch(
            _WRITE,
            now_ms,
            *append.columns(),
            2 * len(new),
            now_ms - self._answer_retention_ms,
            CHANNEL,
            notice,
        )
        return state.answers | answers


class _State:
    """What the database knows of the objects of a transaction, their logs and their producers."""

    def __init__(self) -> None:
        self.answers: dict[ObjectId, list[RunResult]] = {}
        self.tails: dict[PartitionId, LogTail] = {}
        self.producers: ProducerStates = {}


async def _read_state(connection: Connection, commits: Sequence[ObjectCommit]) -> _State:
    partitions = list(dict.fromkeys(run.partition for commit in commits for run in commit.runs))
    producers = list(
        dict.fromkeys(
            (run.partition, batch.producer_id)
            for commit in commits
            for run in commit.runs
            for batch in run.batches
            if batch.producer_id != NO_PRODUCER_ID
        )
    )
    rows = await connection.fetch(
        _READ,
        [commit.object_id for commit in commits],
        *partition_columns(partitions),
        *partition_columns([partition for partition, _ in producers]),
        [producer_id for _, producer_id in producers],
    )
    state = _State()
    for row_kind, position, *numbers, packed in rows:
        if row_kind == _OBJECT_ROW:
            commit = commits[position - 1]
            state.answers[commit.object_id] = _answer_again(commit, numbers[0], packed)
        elif row_kind == _LOG_ROW:
            state.tails[partitions[position - 1]] = LogTail(*numbers)
        else:
            key = ProducerKey(numbers[0], numbers[1])
            state.producers[key] = ProducerState(numbers[2], unpack_batches(packed))
    for partition, producer_id in producers:
        if partition in state.tails:
            state.producers.setdefault(ProducerKey(state.tails[partition].partition_key, producer_id), None)
    return state


def partition_columns(partitions: Sequence[PartitionId]) -> tuple[list[int], list[bytes], list[int]]:
    """Shards, topic ids and indexes, as the statements take them."""
    return (
        [partition.shard for partition in partitions],
        [partition.topic_id for partition in partitions],
        [partition[2] for partition in partitions],
    )


def _answer_again(commit: ObjectCommit, kind: int, answer: bytes | None) -> list[RunResult]:
    if kind == CONDEMNED_OBJECT:
        return [refuse_run(run, ErrorCode.KAFKA_STORAGE_ERROR) for run in commit.runs]
    return forgotten_answer(commit) if answer is None else unpack_answer(answer, commit)


class _Append:
    """The appends of one transaction: everything is worked out first, then written with one statement."""

    def __init__(self, state: _State) -> None:
        self._state = state
        self._bytes_before = {tail.partition_key: tail.byte_length for tail in state.tails.values()}
        self._objects: list[tuple[Any, ...]] = []
        self._runs: list[tuple[Any, ...]] = []
        self._tails: dict[PartitionId, LogTail] = {}
        self._producers: set[ProducerKey] = set()

    @property
    def changed_partitions(self) -> list[PartitionId]:
        return list(self._tails)

    def append(self, commits: Sequence[ObjectCommit]) -> dict[ObjectId, list[RunResult]]:
        return {commit.object_id: self._append_object(commit) for commit in commits}

    def _append_object(self, commit: ObjectCommit) -> list[RunResult]:
        results: list[RunResult] = []
        rows_of_object: list[RunRow] = []
        for run in commit.runs:
            tail = self._state.tails.get(run.partition)
            if tail is None:
                results.append(refuse_run(run, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
                continue
            result, rows = append_run(tail, run, self._state.producers, self._producers)
            results.append(result)
            if rows:
                self._tails[run.partition] = tail
                rows_of_object += rows
        self._objects.append(
            (
                commit.object_id,
                commit.key,
                commit.byte_length,
                commit.broker_id,
                len(rows_of_object),
                pack_answer(results),
            )
        )
        # Arrays of the database count from one.
        object_position = len(self._objects)
        self._runs += [(*row, object_position) for row in rows_of_object]
        return results

    def columns(self) -> list[Sequence[Any]]:
        """Objects, runs, tails and producers, each row by row as arrays; in the order of the keys."""
        tails = [
            (
                tail.partition_key,
                tail.high_watermark,
                tail.max_timestamp_ms,
                tail.byte_length - self._bytes_before[tail.partition_key],
            )
            for tail in self._tails.values()
        ]
        producers = [self._producer_columns(key) for key in self._producers]
        return [
            *_transposed(self._objects, 6),
            *_transposed(sorted(self._runs, key=lambda run: run[:2]), 9),
            *_transposed(sorted(tails), 4),
            *_transposed(sorted(producers), 4),
        ]

    def _producer_columns(self, key: ProducerKey) -> tuple[Any, ...]:
        state = self._state.producers[key]
        if state is None:
            raise InvariantViolated(f"{key} was changed, but has no state")
        return (*key, state.epoch, pack_batches(state.batches))


def _transposed(rows: Sequence[tuple[Any, ...]], columns: int) -> Sequence[Sequence[Any]]:
    return list(zip(*rows, strict=True)) if rows else [()] * columns

"""The control plane in one SQLite file: every call becomes work for the writer's or the reader's thread."""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import TypeVar

from inkless.clock import Clock, Entropy, TaskOwner
from inkless.coordinator.append import ProducerKey
from inkless.coordinator.sqlite import brokers, cluster_row, duties, groups, objects, producers, topics
from inkless.coordinator.sqlite.connection import WriteLock, connect, translated_errors, write_transaction
from inkless.coordinator.sqlite.database_thread import DatabaseThread
from inkless.coordinator.sqlite.migrations import migrate
from inkless.coordinator.sqlite.reader import Query, Reader
from inkless.coordinator.sqlite.retention import plan_retention, retention_result
from inkless.coordinator.sqlite.settings import SqliteSettings
from inkless.coordinator.sqlite.trim import trim_step
from inkless.coordinator.sqlite.writer import Change, Commit, GroupChange, Work, Writer
from inkless.coordinator.types import (
    BrokerRegistration,
    CommittedOffset,
    DeleteRecordsRequest,
    DeleteRecordsResult,
    FindRequest,
    FindResult,
    GroupClaim,
    GroupFence,
    NewTopic,
    ObjectCommit,
    ObjectId,
    OffsetBounds,
    PartitionId,
    RetentionLimit,
    RetentionResult,
    RunResult,
    StoredGroup,
    TimestampHit,
    Topic,
    TopicId,
    UnreferencedObject,
)
from inkless.errors import Unavailable

_Answer = TypeVar("_Answer")

# A find of few partitions is a handful of lookups in cached pages, about 50 us. Handing it to a thread and
# back costs twice that, so it is done where it is asked for.
_FOUND_IN_PLACE_MAX = 8


class SqliteControlPlane:
    """Implements `ControlPlane`; several processes may open the same file."""

    @classmethod
    async def open(cls, settings: SqliteSettings, *, clock: Clock, entropy: Entropy) -> "SqliteControlPlane":
        """Opens the file, or makes it, and brings its schema up to date."""
        writer, reader, in_place = await asyncio.to_thread(_open_file, settings, clock, entropy)
        plane = cls(settings, writer, reader, in_place, clock)
        plane._trim_in_background()
        return plane

    def __init__(
        self, settings: SqliteSettings, writer: Writer, reader: Reader, in_place: Reader, clock: Clock
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._writer = writer
        self._finder = reader.finder
        self._in_place = in_place
        self._trims = TaskOwner("control plane trims")
        start = partial(
            DatabaseThread,
            call_timeout_ms=settings.call_timeout_ms,
            calls_waiting_max=settings.calls_waiting_max,
            group_calls_max=settings.group_calls_max,
        )
        self._write_thread: DatabaseThread[Work] = start("control-plane-writer", writer.execute, writer.close)
        self._read_thread: DatabaseThread[Query] = start("control-plane-reader", reader.execute, reader.close)

    async def close(self) -> None:
        await self._trims.close()
        await asyncio.gather(self._write_thread.close(), self._read_thread.close())
        self._in_place.close()

    async def commit_objects(self, objects: Sequence[ObjectCommit]) -> list[list[RunResult]]:
        answers: list[list[RunResult]] = await self._write_thread.call(Commit(objects))
        return answers

    async def find_batches(self, requests: Sequence[FindRequest], *, bytes_max: int) -> list[FindResult]:
        if len(requests) <= _FOUND_IN_PLACE_MAX:
            try:
                return self._in_place.answer(
                    lambda finder: finder.find_batches(requests, bytes_max=bytes_max)
                )
            except Unavailable:
                # Locked for a moment: the thread can wait for that, the event loop cannot.
                pass
        return await self._read(lambda _: self._finder.find_batches(requests, bytes_max=bytes_max))

    async def offset_bounds(self, partitions: Sequence[PartitionId]) -> list[OffsetBounds]:
        return await self._read(lambda _: self._finder.offset_bounds(partitions))

    async def find_by_timestamp(self, lookups: Sequence[tuple[PartitionId, int]]) -> list[TimestampHit]:
        return await self._read(lambda _: self._finder.find_by_timestamp(lookups))

    async def find_max_timestamp(self, partitions: Sequence[PartitionId]) -> list[TimestampHit]:
        return await self._read(lambda _: self._finder.find_max_timestamp(partitions))

    async def delete_records(self, requests: Sequence[DeleteRecordsRequest]) -> list[DeleteRecordsResult]:
        return await self._change_and_trim(lambda _: self._writer.delete_records(requests))

    async def unreferenced_objects(self, *, since_before_ms: int, count_max: int) -> list[UnreferencedObject]:
        return await self._read(
            partial(objects.unreferenced_objects, since_before_ms=since_before_ms, count_max=count_max)
        )

    async def acquire_duty(self, duty: str, holder: bytes, *, lease_ms: int) -> bool:
        now_ms = self._clock.now_ms()
        return await self._change(
            partial(duties.acquire_duty, duty=duty, holder=holder, lease_ms=lease_ms, now_ms=now_ms)
        )

    async def release_duty(self, duty: str, holder: bytes) -> None:
        await self._change(partial(duties.release_duty, duty=duty, holder=holder))

    async def apply_retention(self, limits: Sequence[RetentionLimit]) -> list[RetentionResult]:
        plans = await self._read(
            partial(plan_retention, limits=limits, runs_max=self._settings.retention_runs_max)
        )
        if any(plan.has_runs_to_forget for plan in plans if plan is not None):
            # Perhaps by a process that is gone.
            self._trim_in_background()
        requests = [
            DeleteRecordsRequest(limit.partition, plan.planned_offset)
            for limit, plan in zip(limits, plans, strict=True)
            if plan is not None and plan.planned_offset > plan.present_offset
        ]
        moved = (
            {result.partition: result for result in await self.delete_records(requests)} if requests else {}
        )
        return [
            retention_result(limit.partition, plan, moved.get(limit.partition))
            for limit, plan in zip(limits, plans, strict=True)
        ]

    async def forget_objects(self, object_ids: Sequence[ObjectId]) -> int:
        repeated_after_ms = self._clock.now_ms() - self._settings.commit_repetition_max_ms
        return await self._change(
            partial(objects.forget_objects, object_ids=object_ids, repeated_after_ms=repeated_after_ms)
        )

    async def condemn_objects(self, object_ids: Sequence[ObjectId]) -> list[ObjectId]:
        # Almost every object was committed, which can be seen without the writer.
        uncommitted = await self._read(partial(objects.without_commit, object_ids=object_ids))
        if all(uncommitted.values()):
            return list(uncommitted)
        return await self._change(
            partial(objects.condemn_objects, object_ids=list(uncommitted), now_ms=self._clock.now_ms())
        )

    async def expire_producers(self, *, unused_before_ms: int, count_max: int) -> int:
        unused: list[ProducerKey] = []
        after: ProducerKey | None = producers.BEFORE_THE_FIRST
        while after is not None and len(unused) < count_max:
            found, after = await self._read(
                partial(producers.find_unused, after=after, unused_before_ms=unused_before_ms)
            )
            unused += found
        if not unused:
            return 0
        return await self._change(
            partial(producers.forget_unused, keys=unused[:count_max], unused_before_ms=unused_before_ms)
        )

    async def cluster_id(self) -> str:
        return await self._read(cluster_row.read_cluster_id)

    async def metadata_version(self) -> int:
        return await self._read(cluster_row.read_metadata_version)

    async def load_topics(self) -> list[Topic]:
        return await self._read(topics.load_topics)

    async def create_topic(self, topic: NewTopic) -> Topic:
        return await self._change(partial(topics.create_topic, new=topic, shard=self._settings.shard))

    async def delete_topic(self, topic_id: TopicId) -> None:
        await self._change_and_trim(partial(topics.delete_topic, topic_id=topic_id))

    async def add_partitions(
        self, topic_id: TopicId, *, partitions_before: int, replicas: Sequence[Sequence[int]]
    ) -> Topic:
        return await self._change(
            partial(
                topics.add_partitions,
                topic_id=topic_id,
                partitions_before=partitions_before,
                replicas=replicas,
            )
        )

    async def alter_topic_configs(self, topic_id: TopicId, configs: Mapping[str, str | None]) -> Topic:
        return await self._change(partial(topics.alter_topic_configs, topic_id=topic_id, configs=configs))

    async def broker_configs(self) -> Mapping[int | None, Mapping[str, str]]:
        return await self._read(brokers.broker_configs)

    async def alter_broker_configs(self, broker_id: int | None, configs: Mapping[str, str | None]) -> None:
        await self._change(partial(brokers.alter_broker_configs, broker_id=broker_id, changes=configs))

    async def register_broker(self, broker: BrokerRegistration, *, lease_ms: int) -> None:
        now_ms = self._clock.now_ms()
        await self._change(partial(brokers.register_broker, broker=broker, lease_ms=lease_ms, now_ms=now_ms))

    async def deregister_broker(self, broker_id: int, incarnation: bytes) -> None:
        await self._change(partial(brokers.deregister_broker, broker_id=broker_id, incarnation=incarnation))

    async def living_brokers(self) -> list[BrokerRegistration]:
        return await self._read(partial(brokers.living_brokers, now_ms=self._clock.now_ms()))

    async def allocate_producer_ids(self, count: int) -> int:
        return await self._change(partial(cluster_row.allocate_producer_ids, count=count))

    async def claim_group(self, group_id: str, *, broker_id: int, incarnation: bytes) -> GroupClaim:
        return await self._change_groups(
            partial(
                groups.claim_group,
                group_id=group_id,
                broker_id=broker_id,
                incarnation=incarnation,
                now_ms=self._clock.now_ms(),
            )
        )

    async def record_generation(self, fence: GroupFence, *, generation: int, protocol_type: str) -> None:
        await self._change_groups(
            partial(
                groups.record_generation,
                fence=fence,
                generation=generation,
                protocol_type=protocol_type,
                now_ms=self._clock.now_ms(),
            )
        )

    async def commit_offsets(self, fence: GroupFence, offsets: Mapping[PartitionId, CommittedOffset]) -> None:
        await self._change_groups(partial(groups.commit_offsets, fence=fence, offsets=offsets))

    async def fetch_offsets(
        self, group_id: str, partitions: Sequence[PartitionId] | None
    ) -> Mapping[PartitionId, CommittedOffset]:
        return await self._read(partial(groups.fetch_offsets, group_id=group_id, partitions=partitions))

    async def delete_offsets(self, fence: GroupFence, partitions: Sequence[PartitionId]) -> None:
        await self._change_groups(partial(groups.delete_offsets, fence=fence, partitions=partitions))

    async def load_groups(self, group_ids: Sequence[str] | None) -> list[StoredGroup]:
        return await self._read(partial(groups.load_groups, group_ids=group_ids))

    async def delete_group(self, fence: GroupFence) -> None:
        await self._change_groups(partial(groups.delete_group, fence=fence))

    async def expire_groups(
        self, in_use: Sequence[GroupFence], *, unused_before_ms: int, count_max: int
    ) -> list[str]:
        return await self._change_groups(
            partial(
                groups.expire_groups,
                in_use=in_use,
                unused_before_ms=unused_before_ms,
                count_max=count_max,
                now_ms=self._clock.now_ms(),
            )
        )

    async def _read(self, query: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        answer: _Answer = await self._read_thread.call(query)
        return answer

    async def _change(self, carry_out: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        answer: _Answer = await self._write_thread.call(Change(carry_out))
        return answer

    async def _change_groups(self, carry_out: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        answer: _Answer = await self._write_thread.call(GroupChange(carry_out))
        return answer

    async def _change_and_trim(self, carry_out: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """A change that leaves runs to forget: a first step in its own transaction, the rest behind it."""
        answer, more = await self._change(
            lambda connection: (carry_out(connection), self._trim_step(connection))
        )
        if more:
            self._trim_in_background()
        return answer

    def _trim_in_background(self) -> None:
        if not self._trims:
            self._trims.spawn(self._trim())

    async def _trim(self) -> None:
        """Forgets in bounded transactions, between which commits get their turn. What a crash or an error
        leaves is done after the next deletion, or when the file is opened again."""
        while await self._change(self._trim_step):
            pass

    def _trim_step(self, connection: sqlite3.Connection) -> bool:
        return trim_step(connection, runs_max=self._settings.trim_runs_max, now_ms=self._clock.now_ms())


def _open_file(settings: SqliteSettings, clock: Clock, entropy: Entropy) -> tuple[Writer, Reader, Reader]:
    try:
        settings.path.parent.mkdir(parents=True, exist_ok=True)
        lock = WriteLock(settings.path)
    except OSError as error:
        raise Unavailable(f"SQLite: {error}") from error
    with ExitStack() as opened, translated_errors():
        opened.callback(lock.close)
        writing = opened.enter_context(
            closing(connect(settings.path, busy_timeout_ms=settings.busy_timeout_ms))
        )
        migrate(writing, lock)
        with write_transaction(writing, lock):
            cluster_row.ensure_cluster(writing, entropy)
        patient = opened.enter_context(
            closing(connect(settings.path, busy_timeout_ms=settings.busy_timeout_ms))
        )
        impatient = opened.enter_context(closing(connect(settings.path, busy_timeout_ms=0)))
        for reading in (patient, impatient):
            reading.execute("PRAGMA query_only = ON")
        opened.pop_all()
    return Writer(writing, lock, clock, settings), Reader(patient, settings), Reader(impatient, settings)

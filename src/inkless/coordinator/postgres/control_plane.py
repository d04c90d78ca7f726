"""The control plane in PostgreSQL: every call becomes a statement or a transaction on one of three pools."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TypeVar

from inkless.clock import Clock, Entropy, TaskOwner
from inkless.coordinator.postgres import (
    brokers,
    cluster_row,
    duties,
    groups,
    log_starts,
    objects,
    producers,
    topics,
)
from inkless.coordinator.postgres.commit import Committer
from inkless.coordinator.postgres.connections import Connection, Lock, Pool
from inkless.coordinator.postgres.find import Finder
from inkless.coordinator.postgres.group_changes import GroupChange, GroupChanges, OffsetCommit
from inkless.coordinator.postgres.grouped_calls import GroupedCalls
from inkless.coordinator.postgres.migrations import migrate
from inkless.coordinator.postgres.notices import CommitCallback, CommitNotices
from inkless.coordinator.postgres.settings import PostgresSettings
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
from inkless.protocol.error_codes import ErrorCode

log = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")


class PostgresControlPlane:
    """Implements `ControlPlane`; any number of processes may open the same database."""

    @classmethod
    async def open(
        cls, settings: PostgresSettings, *, clock: Clock, entropy: Entropy
    ) -> "PostgresControlPlane":
        """Connects and brings the schema up to date."""
        async with AsyncExitStack() as opened:
            pools = []
            for connections_max, by_key_only in (
                (settings.commit_connections_max, True),
                (settings.find_connections_max, True),
                (settings.metadata_connections_max, False),
            ):
                pool = await Pool.open(settings, connections_max=connections_max, by_key_only=by_key_only)
                opened.push_async_callback(pool.close)
                pools.append(pool)
            commits, finds, metadata = pools
            await migrate(metadata)
            await metadata.transact(lambda connection: cluster_row.ensure_cluster(connection, entropy))
            plane = cls(
                settings, commits=commits, finds=finds, metadata=metadata, clock=clock, entropy=entropy
            )
            plane._forget_in_background()
            opened.pop_all()
        return plane

    def __init__(
        self,
        settings: PostgresSettings,
        *,
        commits: Pool,
        finds: Pool,
        metadata: Pool,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._pools = (commits, finds, metadata)
        self._metadata = metadata
        self._finder = Finder(finds)
        sender = entropy.new_id().hex()
        self._notices = CommitNotices(settings, clock, sender=sender)
        self._commits = GroupedCalls(
            "commits", Committer(commits, clock, settings, sender=sender).commit, settings
        )
        self._group_changes = GroupedCalls("group changes", GroupChanges(metadata).execute, settings)
        self._forgetting = TaskOwner("control plane forgetting")

    async def close(self) -> None:
        await self._notices.close()
        await self._commits.close()
        await self._group_changes.close()
        await self._forgetting.close()
        for pool in self._pools:
            await pool.close()

    def subscribe_commits(self, callback: CommitCallback) -> None:
        """From now on `callback` is told of the partitions that other processes commit to; None means that
        anything may have changed. A hint that may come late or twice; it must not block."""
        self._notices.subscribe(callback)

    async def commit_objects(self, objects: Sequence[ObjectCommit]) -> list[list[RunResult]]:
        answers: list[list[RunResult]] = await self._commits.call(objects)
        return answers

    async def find_batches(self, requests: Sequence[FindRequest], *, bytes_max: int) -> list[FindResult]:
        return await self._finder.find_batches(requests, bytes_max=bytes_max)

    async def offset_bounds(self, partitions: Sequence[PartitionId]) -> list[OffsetBounds]:
        return await self._finder.offset_bounds(partitions)

    async def find_by_timestamp(self, lookups: Sequence[tuple[PartitionId, int]]) -> list[TimestampHit]:
        return await self._finder.find_by_timestamp(lookups)

    async def find_max_timestamp(self, partitions: Sequence[PartitionId]) -> list[TimestampHit]:
        return await self._finder.find_by_timestamp([(partition, None) for partition in partitions])

    async def delete_records(self, requests: Sequence[DeleteRecordsRequest]) -> list[DeleteRecordsResult]:
        return await self._change_and_forget(partial(log_starts.move_log_starts, requests=requests))

    async def acquire_duty(self, duty: str, holder: bytes, *, lease_ms: int) -> bool:
        now_ms = self._clock.now_ms()
        return await self._read(
            partial(duties.acquire_duty, duty=duty, holder=holder, lease_ms=lease_ms, now_ms=now_ms)
        )

    async def release_duty(self, duty: str, holder: bytes) -> None:
        await self._read(partial(duties.release_duty, duty=duty, holder=holder))

    async def apply_retention(self, limits: Sequence[RetentionLimit]) -> list[RetentionResult]:
        plans = await self._read(
            partial(log_starts.plan_retention, limits=limits, runs_max=self._settings.retention_runs_max)
        )
        if any(plan.has_runs_to_forget for plan in plans if plan is not None):
            # Perhaps by a process that is gone.
            self._forget_in_background()
        requests = [
            DeleteRecordsRequest(limit.partition, plan.planned_offset)
            for limit, plan in zip(limits, plans, strict=True)
            if plan is not None and plan.planned_offset > plan.present_offset
        ]
        moved = (
            {result.partition: result for result in await self.delete_records(requests)} if requests else {}
        )
        return [
            _retention_result(limit.partition, plan, moved.get(limit.partition))
            for limit, plan in zip(limits, plans, strict=True)
        ]

    async def unreferenced_objects(self, *, since_before_ms: int, count_max: int) -> list[UnreferencedObject]:
        return await self._read(
            partial(objects.unreferenced_objects, since_before_ms=since_before_ms, count_max=count_max)
        )

    async def forget_objects(self, object_ids: Sequence[ObjectId]) -> int:
        repeated_after_ms = self._clock.now_ms() - self._settings.commit_repetition_max_ms
        return await self._change(
            partial(objects.forget_objects, object_ids=object_ids, repeated_after_ms=repeated_after_ms),
            Lock.LOGS,
        )

    async def condemn_objects(self, object_ids: Sequence[ObjectId]) -> list[ObjectId]:
        # Almost every object was committed, which can be seen without a lock.
        uncommitted = await self._read(partial(objects.without_commit, object_ids=object_ids))
        if all(uncommitted.values()):
            return list(uncommitted)
        return await self._change(
            partial(objects.condemn_objects, object_ids=list(uncommitted), now_ms=self._clock.now_ms()),
            Lock.LOGS,
        )

    async def expire_producers(self, *, unused_before_ms: int, count_max: int) -> int:
        unused = await self._read(
            partial(producers.find_unused, unused_before_ms=unused_before_ms, count_max=count_max)
        )
        if not unused:
            return 0
        return await self._change(
            partial(producers.forget_unused, keys=unused, unused_before_ms=unused_before_ms), Lock.LOGS
        )

    async def cluster_id(self) -> str:
        return await self._read(cluster_row.read_cluster_id)

    async def metadata_version(self) -> int:
        return await self._read(cluster_row.read_metadata_version)

    async def load_topics(self) -> list[Topic]:
        return await self._read(topics.load_topics)

    async def create_topic(self, topic: NewTopic) -> Topic:
        return await self._change(
            partial(topics.create_topic, new=topic, shard=self._settings.shard), Lock.METADATA
        )

    async def delete_topic(self, topic_id: TopicId) -> None:
        await self._change_and_forget(partial(topics.delete_topic, topic_id=topic_id), Lock.METADATA)

    async def add_partitions(
        self, topic_id: TopicId, *, partitions_before: int, replicas: Sequence[Sequence[int]]
    ) -> Topic:
        return await self._change(
            partial(
                topics.add_partitions,
                topic_id=topic_id,
                partitions_before=partitions_before,
                replicas=replicas,
            ),
            Lock.METADATA,
        )

    async def alter_topic_configs(self, topic_id: TopicId, configs: Mapping[str, str | None]) -> Topic:
        return await self._change(
            partial(topics.alter_topic_configs, topic_id=topic_id, configs=configs), Lock.METADATA
        )

    async def broker_configs(self) -> Mapping[int | None, Mapping[str, str]]:
        return await self._read(brokers.broker_configs)

    async def alter_broker_configs(self, broker_id: int | None, configs: Mapping[str, str | None]) -> None:
        await self._change(
            partial(brokers.alter_broker_configs, broker_id=broker_id, changes=configs), Lock.METADATA
        )

    async def register_broker(self, broker: BrokerRegistration, *, lease_ms: int) -> None:
        now_ms = self._clock.now_ms()
        await self._change(
            partial(brokers.register_broker, broker=broker, lease_ms=lease_ms, now_ms=now_ms), Lock.METADATA
        )

    async def deregister_broker(self, broker_id: int, incarnation: bytes) -> None:
        await self._change(
            partial(brokers.deregister_broker, broker_id=broker_id, incarnation=incarnation), Lock.METADATA
        )

    async def living_brokers(self) -> list[BrokerRegistration]:
        return await self._read(partial(brokers.living_brokers, now_ms=self._clock.now_ms()))

    async def allocate_producer_ids(self, count: int) -> int:
        return await self._read(partial(cluster_row.allocate_producer_ids, count=count))

    async def claim_group(self, group_id: str, *, broker_id: int, incarnation: bytes) -> GroupClaim:
        return await self._change_group(
            partial(
                groups.claim_group,
                group_id=group_id,
                broker_id=broker_id,
                incarnation=incarnation,
                now_ms=self._clock.now_ms(),
            )
        )

    async def record_generation(self, fence: GroupFence, *, generation: int, protocol_type: str) -> None:
        await self._change_group(
            partial(
                groups.record_generation,
                fence=fence,
                generation=generation,
                protocol_type=protocol_type,
                now_ms=self._clock.now_ms(),
            )
        )

    async def commit_offsets(self, fence: GroupFence, offsets: Mapping[PartitionId, CommittedOffset]) -> None:
        await self._group_changes.call(OffsetCommit(fence, offsets))

    async def fetch_offsets(
        self, group_id: str, partitions: Sequence[PartitionId] | None
    ) -> Mapping[PartitionId, CommittedOffset]:
        return await self._read(partial(groups.fetch_offsets, group_id=group_id, partitions=partitions))

    async def delete_offsets(self, fence: GroupFence, partitions: Sequence[PartitionId]) -> None:
        await self._change_group(partial(groups.delete_offsets, fence=fence, partitions=partitions))

    async def load_groups(self, group_ids: Sequence[str] | None) -> list[StoredGroup]:
        return await self._read(partial(groups.load_groups, group_ids=group_ids))

    async def delete_group(self, fence: GroupFence) -> None:
        await self._change_group(partial(groups.delete_group, fence=fence))

    async def expire_groups(
        self, in_use: Sequence[GroupFence], *, unused_before_ms: int, count_max: int
    ) -> list[str]:
        return await self._change_group(
            partial(
                groups.expire_groups,
                in_use=in_use,
                unused_before_ms=unused_before_ms,
                count_max=count_max,
                now_ms=self._clock.now_ms(),
            )
        )

    async def _read(self, query: Callable[[Connection], Awaitable[_Answer]]) -> _Answer:
        """For single statements, each of which is a transaction of its own."""
        async with self._metadata.connection() as connection:
            return await query(connection)

    async def _change(self, carry_out: Callable[[Connection], Awaitable[_Answer]], *locks: Lock) -> _Answer:
        return await self._metadata.transact(carry_out, locks=locks)

    async def _change_group(self, carry_out: Callable[[Connection], Awaitable[_Answer]]) -> _Answer:
        answer: _Answer = await self._group_changes.call(GroupChange(carry_out))
        return answer

    async def _change_and_forget(
        self, carry_out: Callable[[Connection], Awaitable[_Answer]], *locks: Lock
    ) -> _Answer:
        """A change that leaves runs to forget: a first step in its own transaction, the rest behind it."""

        async def change(connection: Connection) -> tuple[_Answer, bool]:
            return await carry_out(connection), await self._forget_step(connection)

        answer, more = await self._change(change, *locks, Lock.LOGS)
        if more:
            self._forget_in_background()
        return answer

    def _forget_in_background(self) -> None:
        if not self._forgetting:
            self._forgetting.spawn(self._forget())

    async def _forget(self) -> None:
        """Forgets in bounded transactions, between which commits get their turn. What a crash or an error
        leaves is done after the next deletion, or when the next broker starts."""
        try:
            while await self._change(self._forget_step, Lock.LOGS):
                pass
        except Unavailable as error:
            log.warning("runs are left to be forgotten: %s", error)

    async def _forget_step(self, connection: Connection) -> bool:
        return await log_starts.forget_noted_runs(
            connection, runs_max=self._settings.trim_runs_max, now_ms=self._clock.now_ms()
        )


def _retention_result(
    partition: PartitionId, plan: log_starts.PlannedStart | None, moved: DeleteRecordsResult | None
) -> RetentionResult:
    if moved is not None:
        return RetentionResult(partition, moved.error, moved.log_start_offset)
    if plan is None:
        return RetentionResult(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    return RetentionResult(partition, ErrorCode.NONE, plan.present_offset)

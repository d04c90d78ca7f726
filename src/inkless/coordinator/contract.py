"""What a control plane promises, whatever database is behind it.

Every method may be called again after a lost answer and gives the first answer again (invariant I6).
A database that does not answer, or answers that it cannot now, raises `errors.Unavailable`; nothing else
leaves an implementation but `RequestError` where a method says so, and `InvariantViolated` for a bug.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

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


class BatchCoordinator(Protocol):
    """The only place where order is made: it alone gives out offsets."""

    async def commit_objects(self, objects: Sequence[ObjectCommit]) -> list[list[RunResult]]:
        """Commits uploaded objects, each atomically, in the order given; one list of run results per object,
        runs in the order of the commit.

        Idempotent by object id: an object that was committed before gets its first answer again. Only a
        repetition that comes far too late (an hour, unless configured) learns no more than that it is one:
        every batch is a duplicate at offset -1.
        Refused batches (see `RunResult.errors`) take no offsets and do not stop the others. An object of
        which no batch was accepted is recorded as unreferenced, for deletion.
        """
        ...

    async def find_batches(self, requests: Sequence[FindRequest], *, bytes_max: int) -> list[FindResult]:
        """Coordinates from each request's offset on, answers in the order of the requests.

        The first batch returned is the one that contains the offset. Each partition gets whole batches up to
        its own `bytes_max` and all together up to `bytes_max`; the first partition that has any gets at least
        one batch, however large. Costs in proportion to what it returns, not to the depth of the log.
        """
        ...

    async def offset_bounds(self, partitions: Sequence[PartitionId]) -> list[OffsetBounds]:
        """Log start and high watermark, answers in the order asked."""
        ...

    async def find_by_timestamp(self, lookups: Sequence[tuple[PartitionId, int]]) -> list[TimestampHit]:
        """For each (partition, timestamp in ms) the first run whose greatest timestamp is not smaller, whole;
        `coordinates` is None where there is none. Answers in the order asked."""
        ...

    async def find_max_timestamp(self, partitions: Sequence[PartitionId]) -> list[TimestampHit]:
        """The run that holds the greatest timestamp, the first of several; None for an empty partition."""
        ...

    async def delete_records(self, requests: Sequence[DeleteRecordsRequest]) -> list[DeleteRecordsResult]:
        """Moves log starts forward, never back; answers in the order asked. Runs that end before the new log
        start are forgotten, objects that nothing refers to any more are recorded for deletion."""
        ...


class Housekeeping(Protocol):
    """What keeps storage and database from growing for ever. Every call does a bounded amount of work and may
    be made by any broker; `acquire_duty` keeps them from doing the same at the same time."""

    async def acquire_duty(self, duty: str, holder: bytes, *, lease_ms: int) -> bool:
        """Takes or renews the lease of a named duty; false while another holder has it."""
        ...

    async def release_duty(self, duty: str, holder: bytes) -> None:
        """Gives it back; not an error when it is another's by now."""
        ...

    async def apply_retention(self, limits: Sequence[RetentionLimit]) -> list[RetentionResult]:
        """Moves log starts forward past the runs that a limit no longer covers, never past the high watermark
        and never into a run; answers in the order asked. A call may stop short after a bounded number of
        runs: the next one goes on. Runs and objects are treated as by `delete_records`."""
        ...

    async def unreferenced_objects(self, *, since_before_ms: int, count_max: int) -> list[UnreferencedObject]:
        """Up to `count_max` objects that nothing has referred to since before a time, oldest first."""
        ...

    async def forget_objects(self, object_ids: Sequence[ObjectId]) -> int:
        """Removes the records of objects that are gone from storage, unless something refers to them; gives
        how many were removed."""
        ...

    async def condemn_objects(self, object_ids: Sequence[ObjectId]) -> list[ObjectId]:
        """Of the given objects those that were never committed, each of which can never be from now on: what
        a deletion of orphans must know before it touches storage. A condemned object is listed by
        `unreferenced_objects` like any other, from the time it was condemned."""
        ...

    async def expire_producers(self, *, unused_before_ms: int, count_max: int) -> int:
        """Forgets up to `count_max` producer states that no commit has used since; gives how many."""
        ...


class ClusterMetadata(Protocol):
    """Topics, configs, brokers and producer ids: small, read often, changed seldom."""

    async def cluster_id(self) -> str:
        """Made once, at the first start; 22 characters of URL-safe base64, as Kafka's."""
        ...

    async def metadata_version(self) -> int:
        """Grows with every change of a topic, a config or a registration; lets caches ask cheaply. A lease
        that is renewed or that runs out changes nothing here."""
        ...

    async def load_topics(self) -> list[Topic]:
        """All topics, by name."""
        ...

    async def create_topic(self, topic: NewTopic) -> Topic:
        """RequestError TOPIC_ALREADY_EXISTS when another topic has that name; the same topic id again is a
        repeated call and answers as the first."""
        ...

    async def delete_topic(self, topic_id: TopicId) -> None:
        """RequestError UNKNOWN_TOPIC_ID when there is none. Its runs are forgotten, objects that nothing
        refers to any more are recorded for deletion."""
        ...

    async def add_partitions(
        self, topic_id: TopicId, *, partitions_before: int, replicas: Sequence[Sequence[int]]
    ) -> Topic:
        """Appends partitions. RequestError UNKNOWN_TOPIC_ID; INVALID_PARTITIONS when the topic no longer has
        `partitions_before` partitions, unless this very call was carried out already."""
        ...

    async def alter_topic_configs(self, topic_id: TopicId, configs: Mapping[str, str | None]) -> Topic:
        """Sets keys, or removes those whose value is None. RequestError UNKNOWN_TOPIC_ID."""
        ...

    async def broker_configs(self) -> Mapping[int | None, Mapping[str, str]]:
        """Dynamic broker configs by broker id; None is the cluster-wide default."""
        ...

    async def alter_broker_configs(self, broker_id: int | None, configs: Mapping[str, str | None]) -> None:
        """Sets keys, or removes those whose value is None."""
        ...

    async def register_broker(self, broker: BrokerRegistration, *, lease_ms: int) -> None:
        """Takes or renews the lease of a node id. RequestError DUPLICATE_BROKER_REGISTRATION while another
        incarnation holds it, unless that one announced the very same listeners: only one process can listen
        there, so the other is this broker's own past and need not be waited for."""
        ...

    async def deregister_broker(self, broker_id: int, incarnation: bytes) -> None:
        """Gives the lease back; not an error when it is gone."""
        ...

    async def living_brokers(self) -> list[BrokerRegistration]:
        """Brokers whose lease has not run out, by id."""
        ...

    async def allocate_producer_ids(self, count: int) -> int:
        """The first of `count` consecutive ids that are never given out again. A repeated call wastes ids."""
        ...


class GroupStore(Protocol):
    """What of a group outlives its coordinator: its committed offsets, its generation, and who may change
    them. Memberships are the coordinator's own and are not here.

    Methods that take a `GroupFence` raise RequestError NOT_COORDINATOR when the group was claimed by another
    process since, or is gone.
    """

    async def claim_group(self, group_id: str, *, broker_id: int, incarnation: bytes) -> GroupClaim:
        """Makes this process the group's coordinator, and the group if there is none. Fences of other
        processes are worth nothing from now on; the same process gets the same fence again."""
        ...

    async def record_generation(self, fence: GroupFence, *, generation: int, protocol_type: str) -> None:
        """Keeps a number below which the generations of later claims do not begin; it never goes back."""
        ...

    async def commit_offsets(self, fence: GroupFence, offsets: Mapping[PartitionId, CommittedOffset]) -> None:
        """All of them or none; durable when it returns. Calls of one caller take effect in their order."""
        ...

    async def fetch_offsets(
        self, group_id: str, partitions: Sequence[PartitionId] | None
    ) -> Mapping[PartitionId, CommittedOffset]:
        """Those that were committed, of the given partitions or of all; a topic's offsets go with it."""
        ...

    async def delete_offsets(self, fence: GroupFence, partitions: Sequence[PartitionId]) -> None:
        """Not an error where there are none."""
        ...

    async def load_groups(self, group_ids: Sequence[str] | None) -> list[StoredGroup]:
        """Those that exist, of the given ones or of all, by id."""
        ...

    async def delete_group(self, fence: GroupFence) -> None:
        """With its offsets."""
        ...

    async def expire_groups(
        self, in_use: Sequence[GroupFence], *, unused_before_ms: int, count_max: int
    ) -> list[str]:
        """Notes that the groups `in_use` have members, then deletes up to `count_max` groups that nobody has
        claimed, joined, noted or committed to since; gives their ids."""
        ...


@runtime_checkable
class CommitNotices(Protocol):
    """Offered by control planes that hear of the commits of other processes; where there is none, readers
    poll."""

    def subscribe_commits(self, callback: Callable[[Sequence[PartitionId] | None], None]) -> None:
        """From now on `callback` is told, in the event loop, of the partitions that other processes commit
        to; None means that anything may have changed. A hint, which may come late or twice; it must not
        block."""
        ...


class ControlPlane(BatchCoordinator, Housekeeping, ClusterMetadata, GroupStore, Protocol):
    """All of it behind one connection, as every backend offers it."""

    async def close(self) -> None:
        """Finishes what was begun and gives the connections back."""
        ...

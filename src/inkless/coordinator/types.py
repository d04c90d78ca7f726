"""The words that brokers, pipeline and coordinator share.

Values that cross the hot path are named tuples: they are made by the thousand and compared by value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NewType

from inkless.protocol.error_codes import ErrorCode

TopicId = NewType("TopicId", bytes)
"""16 bytes, a version 4 UUID."""

ObjectId = NewType("ObjectId", bytes)
"""16 bytes, chosen by the writer; the key of idempotence of a commit."""

NO_PRODUCER_ID = -1
NO_TIMESTAMP = -1


class PartitionId(NamedTuple):
    """Identity of a partition. The shard says which coordinator database owns it (DESIGN section 6)."""

    shard: int
    topic_id: TopicId
    index: int  # type: ignore[assignment]  # hides tuple.index, which has no use here


class BatchFacts(NamedTuple):
    """What the coordinator must know of one batch; the batch itself stays opaque.

    `record_count` is `lastOffsetDelta + 1`: how many offsets the batch takes.
    `base_sequence` is -1 when `producer_id` is `NO_PRODUCER_ID`.
    """

    byte_length: int
    record_count: int
    max_timestamp_ms: int
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1
    base_sequence: int = -1


class RunCommit(NamedTuple):
    """Batches of one partition that lie one behind the other in the object, from `byte_start` on."""

    partition: PartitionId
    byte_start: int
    batches: Sequence[BatchFacts]


@dataclass(frozen=True, slots=True)
class ObjectCommit:
    """One uploaded WAL object. Runs are sorted by partition and do not overlap."""

    object_id: ObjectId
    key: str
    byte_length: int
    broker_id: int
    runs: Sequence[RunCommit]


class RunResult(NamedTuple):
    """The answer for one run, batches in the order of the commit.

    `base_offsets[i]` is the first offset of batch i: a new one, or, for the retry of a batch that was
    committed before, the one it was given then (-1 when it is too old to be known); -1 for a refused batch.
    `errors` maps the index of every refused batch to its code:
    UNKNOWN_TOPIC_OR_PARTITION, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH,
    KAFKA_STORAGE_ERROR (the object was condemned as an orphan before its commit came),
    DUPLICATE_SEQUENCE_NUMBER (a retry older than the last five batches).
    `duplicates` holds the indexes of the retries: they take no offsets, their bytes are never read.
    """

    partition: PartitionId
    base_offsets: Sequence[int]
    log_start_offset: int
    high_watermark: int
    errors: Mapping[int, ErrorCode] = {}
    duplicates: frozenset[int] = frozenset()


class FindRequest(NamedTuple):
    """Where a reader of one partition stands; `bytes_max` bounds this partition's share."""

    partition: PartitionId
    offset: int
    bytes_max: int


class Coordinates(NamedTuple):
    """Whole batches of one run, in offset order.

    The run is `[run_byte_start, run_byte_end)` of the object and begins at `run_base_offset`; what is to be
    returned of it is `[byte_start, byte_end)`, whose first batch begins at `base_offset`, and which ends
    before `end_offset`. In a WAL object offsets are not in the bytes, hence the run's own start.
    `offsets_in_bytes` is true for segments, whose bytes carry their offsets already.
    """

    object_id: ObjectId
    key: str
    object_byte_length: int
    committed_ms: int
    run_byte_start: int
    run_byte_end: int
    run_base_offset: int
    byte_start: int
    byte_end: int
    base_offset: int
    end_offset: int
    offsets_in_bytes: bool = False


class FindResult(NamedTuple):
    """The answer for one partition of a find.

    `error` is NONE, UNKNOWN_TOPIC_OR_PARTITION or OFFSET_OUT_OF_RANGE (below the log start or above the high
    watermark); at the high watermark `coordinates` is empty.
    """

    partition: PartitionId
    error: ErrorCode
    log_start_offset: int
    high_watermark: int
    coordinates: Sequence[Coordinates]


class TimestampHit(NamedTuple):
    """The first run that can hold a record at or after a timestamp; the exact record is in its bytes."""

    partition: PartitionId
    log_start_offset: int
    high_watermark: int
    error: ErrorCode
    coordinates: Coordinates | None


class OffsetBounds(NamedTuple):
    """First readable offset and the offset after the last one."""

    partition: PartitionId
    error: ErrorCode
    log_start_offset: int
    high_watermark: int


class DeleteRecordsRequest(NamedTuple):
    """`before_offset` -1 means the high watermark."""

    partition: PartitionId
    before_offset: int


class DeleteRecordsResult(NamedTuple):
    """`error` is NONE, UNKNOWN_TOPIC_OR_PARTITION or OFFSET_OUT_OF_RANGE (above the high watermark)."""

    partition: PartitionId
    error: ErrorCode
    log_start_offset: int


class RetentionLimit(NamedTuple):
    """What of a partition is too old or too much; -1 means no limit."""

    partition: PartitionId
    keep_since_ms: int
    """Runs whose greatest timestamp is smaller go, from the start of the log up to the first that stays."""
    bytes_max: int
    """Runs go from the start of the log while what is left behind them is at least this much."""


class RetentionResult(NamedTuple):
    """`error` is NONE or UNKNOWN_TOPIC_OR_PARTITION; `log_start_offset` is the one after the call."""

    partition: PartitionId
    error: ErrorCode
    log_start_offset: int


class UnreferencedObject(NamedTuple):
    """An object that no coordinates point to; it may be deleted some time after `since_ms`."""

    object_id: ObjectId
    key: str
    byte_length: int
    since_ms: int


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as the cluster knows it; a new value after every change."""

    topic_id: TopicId
    name: str
    shard: int
    replicas: Sequence[Sequence[int]]
    """Broker ids per partition, the preferred leader first; `len(replicas)` is the partition count."""
    configs: Mapping[str, str] = field(default_factory=dict)
    """Only what was set on the topic itself."""

    @property
    def partition_count(self) -> int:
        return len(self.replicas)


@dataclass(frozen=True, slots=True)
class Listener:
    """Where clients reach a broker under one listener name."""

    name: str
    host: str
    port: int
    security_protocol: str = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """A broker as it announces itself; `incarnation` tells two processes with one node id apart."""

    broker_id: int
    incarnation: bytes
    rack: str | None
    listeners: Sequence[Listener]


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to be made; placement has been decided before the coordinator is asked."""

    topic_id: TopicId
    name: str
    replicas: Sequence[Sequence[int]]
    configs: Mapping[str, str] = field(default_factory=dict)


class GroupFence(NamedTuple):
    """Says which claim of a group a call belongs to; one of an older claim is refused.

    The incarnation is in it, since epochs begin anew when a group was deleted.
    """

    group_id: str
    incarnation: bytes
    epoch: int


class GroupClaim(NamedTuple):
    """A group as its new coordinator finds it. `protocol_type` is empty while nobody has joined it."""

    fence: GroupFence
    generation: int
    protocol_type: str


class StoredGroup(NamedTuple):
    """A group as the database knows it; `broker_id` is the last one that claimed it."""

    group_id: str
    broker_id: int
    generation: int
    protocol_type: str


class CommittedOffset(NamedTuple):
    """Where a group stands in a partition. `leader_epoch` is -1 when the client named none."""

    offset: int
    leader_epoch: int
    metadata: str
    committed_ms: int

"""Fetch: request and response."""

from collections.abc import Sequence
from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.messages.leaders import LeaderIdAndEpoch, NodeEndpoint
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import (
    INT32_MAX,
    INT64_MAX,
    NO_UUID,
    Int8,
    Int16,
    Int32,
    Int64,
    RecordsBuffers,
    String,
    Uuid,
    since,
    tag,
    until,
)


@struct
class ForgottenTopic:
    topic: Annotated[String, until(12)] = ""
    topic_id: Annotated[Uuid, since(13)] = NO_UUID
    partitions: Sequence[Int32] = ()


@struct
class FetchPartition:
    partition: Int32 = 0
    current_leader_epoch: Annotated[Int32, since(9)] = -1
    fetch_offset: Int64 = 0
    last_fetched_epoch: Annotated[Int32, since(12)] = -1
    log_start_offset: Annotated[Int64, since(5)] = -1
    partition_max_bytes: Int32 = 0
    replica_directory_id: Annotated[Uuid, since(17), tag(0)] = NO_UUID
    high_watermark: Annotated[Int64, since(18), tag(1)] = INT64_MAX


@struct
class FetchTopic:
    topic: Annotated[String, until(12)] = ""
    topic_id: Annotated[Uuid, since(13)] = NO_UUID
    partitions: Sequence[FetchPartition] = ()


@struct
class ReplicaState:
    replica_id: Int32 = -1
    replica_epoch: Int64 = -1


@request(ApiKey.FETCH, versions=(4, 18), flexible_from=12)
class FetchRequest:
    cluster_id: Annotated[String | None, since(12), tag(0)] = None
    replica_id: Annotated[Int32, until(14)] = -1
    replica_state: Annotated[ReplicaState | None, since(15), tag(1)] = None
    max_wait_ms: Int32 = 0
    min_bytes: Int32 = 0
    max_bytes: Int32 = INT32_MAX
    isolation_level: Int8 = 0
    session_id: Annotated[Int32, since(7)] = 0
    session_epoch: Annotated[Int32, since(7)] = -1
    topics: Sequence[FetchTopic] = ()
    forgotten_topics_data: Annotated[Sequence[ForgottenTopic], since(7)] = ()
    rack_id: Annotated[String, since(11)] = ""


@struct
class AbortedTransaction:
    producer_id: Int64 = 0
    first_offset: Int64 = 0


@struct
class SnapshotId:
    end_offset: Int64 = -1
    epoch: Int32 = -1


@struct
class DivergingEpoch:
    epoch: Int32 = -1
    end_offset: Int64 = -1


@struct
class PartitionData:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    high_watermark: Int64 = 0
    last_stable_offset: Int64 = -1
    log_start_offset: Annotated[Int64, since(5)] = -1
    diverging_epoch: Annotated[DivergingEpoch | None, since(12), tag(0)] = None
    current_leader: Annotated[LeaderIdAndEpoch | None, since(12), tag(1)] = None
    snapshot_id: Annotated[SnapshotId | None, since(12), tag(2)] = None
    aborted_transactions: Sequence[AbortedTransaction] | None = None
    preferred_read_replica: Annotated[Int32, since(11)] = -1
    records: RecordsBuffers | None = None


@struct
class FetchableTopicResponse:
    topic: Annotated[String, until(12)] = ""
    topic_id: Annotated[Uuid, since(13)] = NO_UUID
    partitions: Sequence[PartitionData] = ()


@response(ApiKey.FETCH, versions=(4, 18), flexible_from=12)
class FetchResponse:
    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, since(7)] = 0
    session_id: Annotated[Int32, since(7)] = 0
    responses: Sequence[FetchableTopicResponse] = ()
    node_endpoints: Annotated[Sequence[NodeEndpoint], since(16), tag(0)] = ()

"""Offset Commit: request and response."""

from collections.abc import Sequence
from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import NO_UUID, Int16, Int32, Int64, String, Uuid, between, since, until


@struct
class OffsetCommitRequestPartition:
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, since(6)] = -1
    commit_timestamp: Annotated[Int64, between(1, 1)] = -1
    committed_metadata: String | None = None


@struct
class OffsetCommitRequestTopic:
    name: Annotated[String, until(9)] = ""
    topic_id: Annotated[Uuid, since(10)] = NO_UUID
    partitions: Sequence[OffsetCommitRequestPartition] = ()


@request(ApiKey.OFFSET_COMMIT, versions=(0, 10), flexible_from=8)
class OffsetCommitRequest:
    group_id: String = ""
    generation_id_or_member_epoch: Annotated[Int32, since(1)] = -1
    member_id: Annotated[String, since(1)] = ""
    group_instance_id: Annotated[String | None, since(7)] = None
    retention_time_ms: Annotated[Int64, between(2, 4)] = -1
    topics: Sequence[OffsetCommitRequestTopic] = ()


@struct
class OffsetCommitResponsePartition:
    partition_index: Int32 = 0
    error_code: Int16 = 0


@struct
class OffsetCommitResponseTopic:
    name: Annotated[String, until(9)] = ""
    topic_id: Annotated[Uuid, since(10)] = NO_UUID
    partitions: Sequence[OffsetCommitResponsePartition] = ()


@response(ApiKey.OFFSET_COMMIT, versions=(0, 10), flexible_from=8)
class OffsetCommitResponse:
    throttle_time_ms: Annotated[Int32, since(3)] = 0
    topics: Sequence[OffsetCommitResponseTopic] = ()

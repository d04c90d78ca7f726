"""Offset Fetch: request and response."""

from collections.abc import Sequence
from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import (
    NO_UUID,
    Bool,
    Int16,
    Int32,
    Int64,
    String,
    Uuid,
    between,
    nullable_since,
    since,
    until,
)


@struct
class OffsetFetchRequestTopics:
    name: Annotated[String, until(9)] = ""
    topic_id: Annotated[Uuid, since(10)] = NO_UUID
    partition_indexes: Sequence[Int32] = ()


@struct
class OffsetFetchRequestGroup:
    group_id: String = ""
    member_id: Annotated[String | None, since(9)] = None
    member_epoch: Annotated[Int32, since(9)] = -1
    topics: Sequence[OffsetFetchRequestTopics] | None = None


@struct
class OffsetFetchRequestTopic:
    name: String = ""
    partition_indexes: Sequence[Int32] = ()


@request(ApiKey.OFFSET_FETCH, versions=(0, 10), flexible_from=6)
class OffsetFetchRequest:
    group_id: Annotated[String, until(7)] = ""
    topics: Annotated[Sequence[OffsetFetchRequestTopic] | None, until(7), nullable_since(2)] = ()
    groups: Annotated[Sequence[OffsetFetchRequestGroup], since(8)] = ()
    require_stable: Annotated[Bool, since(7)] = False


@struct
class OffsetFetchResponsePartitions:
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Int32 = -1
    metadata: String | None = None
    error_code: Int16 = 0


@struct
class OffsetFetchResponseTopics:
    name: Annotated[String, until(9)] = ""
    topic_id: Annotated[Uuid, since(10)] = NO_UUID
    partitions: Sequence[OffsetFetchResponsePartitions] = ()


@struct
class OffsetFetchResponseGroup:
    group_id: String = ""
    topics: Sequence[OffsetFetchResponseTopics] = ()
    error_code: Int16 = 0


@struct
class OffsetFetchResponsePartition:
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, since(5)] = -1
    metadata: String | None = None
    error_code: Int16 = 0


@struct
class OffsetFetchResponseTopic:
    name: String = ""
    partitions: Sequence[OffsetFetchResponsePartition] = ()


@response(ApiKey.OFFSET_FETCH, versions=(0, 10), flexible_from=6)
class OffsetFetchResponse:
    throttle_time_ms: Annotated[Int32, since(3)] = 0
    topics: Annotated[Sequence[OffsetFetchResponseTopic], until(7)] = ()
    error_code: Annotated[Int16, between(2, 7)] = 0
    groups: Annotated[Sequence[OffsetFetchResponseGroup], since(8)] = ()

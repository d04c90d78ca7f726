"""List Offsets: request and response."""

from collections.abc import Sequence
from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import Int8, Int16, Int32, Int64, String, since


@struct
class ListOffsetsPartition:
    partition_index: Int32 = 0
    current_leader_epoch: Annotated[Int32, since(4)] = -1
    timestamp: Int64 = 0


@struct
class ListOffsetsTopic:
    name: String = ""
    partitions: Sequence[ListOffsetsPartition] = ()


@request(ApiKey.LIST_OFFSETS, versions=(1, 11), flexible_from=6)
class ListOffsetsRequest:
    replica_id: Int32 = 0
    isolation_level: Annotated[Int8, since(2)] = 0
    topics: Sequence[ListOffsetsTopic] = ()
    timeout_ms: Annotated[Int32, since(10)] = 0


@struct
class ListOffsetsPartitionResponse:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    timestamp: Int64 = -1
    offset: Int64 = -1
    leader_epoch: Annotated[Int32, since(4)] = -1


@struct
class ListOffsetsTopicResponse:
    name: String = ""
    partitions: Sequence[ListOffsetsPartitionResponse] = ()


@response(ApiKey.LIST_OFFSETS, versions=(1, 11), flexible_from=6)
class ListOffsetsResponse:
    throttle_time_ms: Annotated[Int32, since(2)] = 0
    topics: Sequence[ListOffsetsTopicResponse] = ()

"""Offset Delete: request and response."""

from collections.abc import Sequence

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import Int16, Int32, String


@struct
class OffsetDeleteRequestPartition:
    partition_index: Int32 = 0


@struct
class OffsetDeleteRequestTopic:
    name: String = ""
    partitions: Sequence[OffsetDeleteRequestPartition] = ()


@request(ApiKey.OFFSET_DELETE, versions=(0, 0))
class OffsetDeleteRequest:
    group_id: String = ""
    topics: Sequence[OffsetDeleteRequestTopic] = ()


@struct
class OffsetDeleteResponsePartition:
    partition_index: Int32 = 0
    error_code: Int16 = 0


@struct
class OffsetDeleteResponseTopic:
    name: String = ""
    partitions: Sequence[OffsetDeleteResponsePartition] = ()


@response(ApiKey.OFFSET_DELETE, versions=(0, 0))
class OffsetDeleteResponse:
    error_code: Int16 = 0
    throttle_time_ms: Int32 = 0
    topics: Sequence[OffsetDeleteResponseTopic] = ()

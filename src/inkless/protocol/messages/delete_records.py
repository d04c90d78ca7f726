"""Delete Records: request and response."""

from collections.abc import Sequence

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import Int16, Int32, Int64, String


@struct
class DeleteRecordsPartition:
    partition_index: Int32 = 0
    offset: Int64 = 0


@struct
class DeleteRecordsTopic:
    name: String = ""
    partitions: Sequence[DeleteRecordsPartition] = ()


@request(ApiKey.DELETE_RECORDS, versions=(0, 2), flexible_from=2)
class DeleteRecordsRequest:
    topics: Sequence[DeleteRecordsTopic] = ()
    timeout_ms: Int32 = 0


@struct
class DeleteRecordsPartitionResult:
    partition_index: Int32 = 0
    low_watermark: Int64 = 0
    error_code: Int16 = 0


@struct
class DeleteRecordsTopicResult:
    name: String = ""
    partitions: Sequence[DeleteRecordsPartitionResult] = ()


@response(ApiKey.DELETE_RECORDS, versions=(0, 2), flexible_from=2)
class DeleteRecordsResponse:
    throttle_time_ms: Int32 = 0
    topics: Sequence[DeleteRecordsTopicResult] = ()

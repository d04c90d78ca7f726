"""Create Partitions: request and response."""

from collections.abc import Sequence

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import Bool, Int16, Int32, String


@struct
class CreatePartitionsAssignment:
    broker_ids: Sequence[Int32] = ()


@struct
class CreatePartitionsTopic:
    name: String = ""
    count: Int32 = 0
    assignments: Sequence[CreatePartitionsAssignment] | None = None


@request(ApiKey.CREATE_PARTITIONS, versions=(0, 3), flexible_from=2)
class CreatePartitionsRequest:
    topics: Sequence[CreatePartitionsTopic] = ()
    timeout_ms: Int32 = 0
    validate_only: Bool = False


@struct
class CreatePartitionsTopicResult:
    name: String = ""
    error_code: Int16 = 0
    error_message: String | None = None


@response(ApiKey.CREATE_PARTITIONS, versions=(0, 3), flexible_from=2)
class CreatePartitionsResponse:
    throttle_time_ms: Int32 = 0
    results: Sequence[CreatePartitionsTopicResult] = ()

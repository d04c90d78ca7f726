"""Delete Groups: request and response."""

from collections.abc import Sequence

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import Int16, Int32, String


@request(ApiKey.DELETE_GROUPS, versions=(0, 2), flexible_from=2)
class DeleteGroupsRequest:
    groups_names: Sequence[String] = ()


@struct
class DeletableGroupResult:
    group_id: String = ""
    error_code: Int16 = 0


@response(ApiKey.DELETE_GROUPS, versions=(0, 2), flexible_from=2)
class DeleteGroupsResponse:
    throttle_time_ms: Int32 = 0
    results: Sequence[DeletableGroupResult] = ()

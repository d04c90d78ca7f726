"""Describe Groups: request and response."""

from collections.abc import Sequence
from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import INT32_MIN, Bool, Bytes, Int16, Int32, String, since


@request(ApiKey.DESCRIBE_GROUPS, versions=(0, 6), flexible_from=5)
class DescribeGroupsRequest:
    groups: Sequence[String] = ()
    include_authorized_operations: Annotated[Bool, since(3)] = False


@struct
class DescribedGroupMember:
    member_id: String = ""
    group_instance_id: Annotated[String | None, since(4)] = None
    client_id: String = ""
    client_host: String = ""
    member_metadata: Bytes = b""
    member_assignment: Bytes = b""


@struct
class DescribedGroup:
    error_code: Int16 = 0
    error_message: Annotated[String | None, since(6)] = None
    group_id: String = ""
    group_state: String = ""
    protocol_type: String = ""
    protocol_data: String = ""
    members: Sequence[DescribedGroupMember] = ()
    authorized_operations: Annotated[Int32, since(3)] = INT32_MIN


@response(ApiKey.DESCRIBE_GROUPS, versions=(0, 6), flexible_from=5)
class DescribeGroupsResponse:
    throttle_time_ms: Annotated[Int32, since(1)] = 0
    groups: Sequence[DescribedGroup] = ()

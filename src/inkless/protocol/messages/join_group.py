"""Join Group: request and response."""

from collections.abc import Sequence
from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import Bool, Bytes, Int16, Int32, String, nullable_since, since


@struct
class JoinGroupRequestProtocol:
    name: String = ""
    metadata: Bytes = b""


@request(ApiKey.JOIN_GROUP, versions=(0, 9), flexible_from=6)
class JoinGroupRequest:
    group_id: String = ""
    session_timeout_ms: Int32 = 0
    rebalance_timeout_ms: Annotated[Int32, since(1)] = -1
    member_id: String = ""
    group_instance_id: Annotated[String | None, since(5)] = None
    protocol_type: String = ""
    protocols: Sequence[JoinGroupRequestProtocol] = ()
    reason: Annotated[String | None, since(8)] = None


@struct
class JoinGroupResponseMember:
    member_id: String = ""
    group_instance_id: Annotated[String | None, since(5)] = None
    metadata: Bytes = b""


@response(ApiKey.JOIN_GROUP, versions=(0, 9), flexible_from=6)
class JoinGroupResponse:
    throttle_time_ms: Annotated[Int32, since(2)] = 0
    error_code: Int16 = 0
    generation_id: Int32 = -1
    protocol_type: Annotated[String | None, since(7)] = None
    protocol_name: Annotated[String | None, nullable_since(7)] = ""
    leader: String = ""
    skip_assignment: Annotated[Bool, since(9)] = False
    member_id: String = ""
    members: Sequence[JoinGroupResponseMember] = ()

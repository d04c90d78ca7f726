"""Leave Group: request and response."""

from collections.abc import Sequence
from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import Int16, Int32, String, since, until


@struct
class MemberIdentity:
    member_id: String = ""
    group_instance_id: String | None = None
    reason: Annotated[String | None, since(5)] = None


@request(ApiKey.LEAVE_GROUP, versions=(0, 5), flexible_from=4)
class LeaveGroupRequest:
    group_id: String = ""
    member_id: Annotated[String, until(2)] = ""
    members: Annotated[Sequence[MemberIdentity], since(3)] = ()


@struct
class MemberResponse:
    member_id: String = ""
    group_instance_id: String | None = None
    error_code: Int16 = 0


@response(ApiKey.LEAVE_GROUP, versions=(0, 5), flexible_from=4)
class LeaveGroupResponse:
    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Int16 = 0
    members: Annotated[Sequence[MemberResponse], since(3)] = ()

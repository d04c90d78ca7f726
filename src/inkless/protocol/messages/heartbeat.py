"""Heartbeat: request and response."""

from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response
from inkless.protocol.wire_types import Int16, Int32, String, since


@request(ApiKey.HEARTBEAT, versions=(0, 4), flexible_from=4)
class HeartbeatRequest:
    group_id: String = ""
    generation_id: Int32 = 0
    member_id: String = ""
    group_instance_id: Annotated[String | None, since(3)] = None


@response(ApiKey.HEARTBEAT, versions=(0, 4), flexible_from=4)
class HeartbeatResponse:
    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Int16 = 0

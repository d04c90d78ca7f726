"""List Groups: request and response."""

from collections.abc import Sequence
from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import Int16, Int32, String, since


@request(ApiKey.LIST_GROUPS, versions=(0, 5), flexible_from=3)
class ListGroupsRequest:
    states_filter: Annotated[Sequence[String], since(4)] = ()
    types_filter: Annotated[Sequence[String], since(5)] = ()


@struct
class ListedGroup:
    group_id: String = ""
    protocol_type: String = ""
    group_state: Annotated[String, since(4)] = ""
    group_type: Annotated[String, since(5)] = ""


@response(ApiKey.LIST_GROUPS, versions=(0, 5), flexible_from=3)
class ListGroupsResponse:
    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Int16 = 0
    groups: Sequence[ListedGroup] = ()

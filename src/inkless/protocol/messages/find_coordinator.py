"""Find Coordinator: request and response."""

from collections.abc import Sequence
from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import Int8, Int16, Int32, String, between, since, until


@request(ApiKey.FIND_COORDINATOR, versions=(0, 6), flexible_from=3)
class FindCoordinatorRequest:
    key: Annotated[String, until(3)] = ""
    key_type: Annotated[Int8, since(1)] = 0
    coordinator_keys: Annotated[Sequence[String], since(4)] = ()


@struct
class Coordinator:
    key: String = ""
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None


@response(ApiKey.FIND_COORDINATOR, versions=(0, 6), flexible_from=3)
class FindCoordinatorResponse:
    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Annotated[Int16, until(3)] = 0
    error_message: Annotated[String | None, between(1, 3)] = None
    node_id: Annotated[Int32, until(3)] = 0
    host: Annotated[String, until(3)] = ""
    port: Annotated[Int32, until(3)] = 0
    coordinators: Annotated[Sequence[Coordinator], since(4)] = ()

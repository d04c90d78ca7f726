"""Delete Topics: request and response."""

from collections.abc import Sequence
from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import NO_UUID, Int16, Int32, String, Uuid, nullable_since, since, until


@struct
class DeleteTopicState:
    name: String | None = None
    topic_id: Uuid = NO_UUID


@request(ApiKey.DELETE_TOPICS, versions=(0, 6), flexible_from=4)
class DeleteTopicsRequest:
    topics: Annotated[Sequence[DeleteTopicState], since(6)] = ()
    topic_names: Annotated[Sequence[String], until(5)] = ()
    timeout_ms: Int32 = 0


@struct
class DeletableTopicResult:
    name: Annotated[String | None, nullable_since(6)] = ""
    topic_id: Annotated[Uuid, since(6)] = NO_UUID
    error_code: Int16 = 0
    error_message: Annotated[String | None, since(5)] = None


@response(ApiKey.DELETE_TOPICS, versions=(0, 6), flexible_from=4)
class DeleteTopicsResponse:
    throttle_time_ms: Annotated[Int32, since(1)] = 0
    responses: Sequence[DeletableTopicResult] = ()

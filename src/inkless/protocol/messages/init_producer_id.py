"""Init Producer Id: request and response."""

from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response
from inkless.protocol.wire_types import Int16, Int32, Int64, String, since


@request(ApiKey.INIT_PRODUCER_ID, versions=(0, 5), flexible_from=2)
class InitProducerIdRequest:
    transactional_id: String | None = None
    transaction_timeout_ms: Int32 = 0
    producer_id: Annotated[Int64, since(3)] = -1
    producer_epoch: Annotated[Int16, since(3)] = -1


@response(ApiKey.INIT_PRODUCER_ID, versions=(0, 5), flexible_from=2)
class InitProducerIdResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id: Int64 = -1
    producer_epoch: Int16 = 0

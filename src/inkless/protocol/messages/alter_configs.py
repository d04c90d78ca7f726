"""Alter Configs: request and response."""

from collections.abc import Sequence

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import Bool, Int8, Int16, Int32, String


@struct
class AlterableConfig:
    name: String = ""
    value: String | None = None


@struct
class AlterConfigsResource:
    resource_type: Int8 = 0
    resource_name: String = ""
    configs: Sequence[AlterableConfig] = ()


@request(ApiKey.ALTER_CONFIGS, versions=(0, 2), flexible_from=2)
class AlterConfigsRequest:
    resources: Sequence[AlterConfigsResource] = ()
    validate_only: Bool = False


@struct
class AlterConfigsResourceResponse:
    error_code: Int16 = 0
    error_message: String | None = None
    resource_type: Int8 = 0
    resource_name: String = ""


@response(ApiKey.ALTER_CONFIGS, versions=(0, 2), flexible_from=2)
class AlterConfigsResponse:
    throttle_time_ms: Int32 = 0
    responses: Sequence[AlterConfigsResourceResponse] = ()

"""Incremental Alter Configs: request and response."""

from collections.abc import Sequence

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import Bool, Int8, Int16, Int32, String


@struct
class IncrementalAlterableConfig:
    name: String = ""
    config_operation: Int8 = 0
    value: String | None = None


@struct
class IncrementalAlterConfigsResource:
    resource_type: Int8 = 0
    resource_name: String = ""
    configs: Sequence[IncrementalAlterableConfig] = ()


@request(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=(0, 1), flexible_from=1)
class IncrementalAlterConfigsRequest:
    resources: Sequence[IncrementalAlterConfigsResource] = ()
    validate_only: Bool = False


@struct
class IncrementalAlterConfigsResourceResponse:
    error_code: Int16 = 0
    error_message: String | None = None
    resource_type: Int8 = 0
    resource_name: String = ""


@response(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=(0, 1), flexible_from=1)
class IncrementalAlterConfigsResponse:
    throttle_time_ms: Int32 = 0
    responses: Sequence[IncrementalAlterConfigsResourceResponse] = ()

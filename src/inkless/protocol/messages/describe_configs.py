"""Describe Configs: request and response."""

from collections.abc import Sequence
from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import Bool, Int8, Int16, Int32, String, since, until


@struct
class DescribeConfigsResource:
    resource_type: Int8 = 0
    resource_name: String = ""
    configuration_keys: Sequence[String] | None = None


@request(ApiKey.DESCRIBE_CONFIGS, versions=(0, 4), flexible_from=4)
class DescribeConfigsRequest:
    resources: Sequence[DescribeConfigsResource] = ()
    include_synonyms: Annotated[Bool, since(1)] = False
    include_documentation: Annotated[Bool, since(3)] = False


@struct
class DescribeConfigsSynonym:
    name: String = ""
    value: String | None = None
    source: Int8 = 0


@struct
class DescribeConfigsResourceResult:
    name: String = ""
    value: String | None = None
    read_only: Bool = False
    config_source: Annotated[Int8, since(1)] = -1
    is_default: Annotated[Bool, until(0)] = False
    is_sensitive: Bool = False
    synonyms: Annotated[Sequence[DescribeConfigsSynonym], since(1)] = ()
    config_type: Annotated[Int8, since(3)] = 0
    documentation: Annotated[String | None, since(3)] = None


@struct
class DescribeConfigsResult:
    error_code: Int16 = 0
    error_message: String | None = None
    resource_type: Int8 = 0
    resource_name: String = ""
    configs: Sequence[DescribeConfigsResourceResult] = ()


@response(ApiKey.DESCRIBE_CONFIGS, versions=(0, 4), flexible_from=4)
class DescribeConfigsResponse:
    throttle_time_ms: Int32 = 0
    results: Sequence[DescribeConfigsResult] = ()

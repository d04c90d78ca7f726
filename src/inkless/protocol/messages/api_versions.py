"""Api Versions: request and response."""

from collections.abc import Sequence
from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import Bool, Int16, Int32, Int64, String, since, tag


@request(ApiKey.API_VERSIONS, versions=(0, 4), flexible_from=3)
class ApiVersionsRequest:
    client_software_name: Annotated[String, since(3)] = ""
    client_software_version: Annotated[String, since(3)] = ""


@struct
class FinalizedFeatureKey:
    name: String = ""
    max_version_level: Int16 = 0
    min_version_level: Int16 = 0


@struct
class SupportedFeatureKey:
    name: String = ""
    min_version: Int16 = 0
    max_version: Int16 = 0


@struct
class ApiVersion:
    api_key: Int16 = 0
    min_version: Int16 = 0
    max_version: Int16 = 0


@response(ApiKey.API_VERSIONS, versions=(0, 4), flexible_from=3)
class ApiVersionsResponse:
    error_code: Int16 = 0
    api_keys: Sequence[ApiVersion] = ()
    throttle_time_ms: Annotated[Int32, since(1)] = 0
    supported_features: Annotated[Sequence[SupportedFeatureKey], since(3), tag(0)] = ()
    finalized_features_epoch: Annotated[Int64, since(3), tag(1)] = -1
    finalized_features: Annotated[Sequence[FinalizedFeatureKey], since(3), tag(2)] = ()
    zk_migration_ready: Annotated[Bool, since(3), tag(3)] = False

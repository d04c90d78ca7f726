"""ApiVersions: what this broker serves."""

import re

from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from inkless.server.context import BrokerContext
from inkless.server.exchange import Exchange

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle_api_versions(
    _: BrokerContext, exchange: Exchange, request: ApiVersionsRequest
) -> ApiVersionsResponse:
    if exchange.version >= 3 and not (
        _SOFTWARE.fullmatch(request.client_software_name)
        and _SOFTWARE.fullmatch(request.client_software_version)
    ):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    return ApiVersionsResponse(api_keys=_served())


def unsupported_version(_: BrokerContext, __: Exchange, ___: ApiVersionsRequest) -> ApiVersionsResponse:
    """The answer to a version of ApiVersions that is newer than ours, in version 0 (KIP-511)."""
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=_served())


def _served() -> list[ApiVersion]:
    from inkless.server.api_table import API_TABLE

    return [ApiVersion(key, api.version_min, api.version_max) for key, api in sorted(API_TABLE.items())]

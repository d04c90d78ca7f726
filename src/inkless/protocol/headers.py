"""The headers before requests and responses, read and written by hand since every message has one.

A request's header is version 1, or 2 (with tagged fields) if the request's version is flexible; a
response's is 0 or 1 accordingly, except that ApiVersions always answers with 0, since the client does not
know yet what we speak.
"""

import struct
from typing import NamedTuple

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.errors import MalformedBytes
from inkless.protocol.primitives import skip_tags
from inkless.protocol.registry import APIS
from inkless.protocol.schema import NEVER_FLEXIBLE

_FLEXIBLE_FROM = {int(api.key): api.flexible_from for api in APIS.values()}
_REQUEST_START = struct.Struct(">hhih")
_RESPONSE_START = struct.Struct(">i")
_flexible_from = _FLEXIBLE_FROM.get
_unpack_request_start = _REQUEST_START.unpack_from

CLIENT_IDS_MAX = 1024
"""How many client ids are remembered. Past it all are forgotten: cheaper than knowing which was used last."""

_client_ids: dict[bytes, str] = {}


class RequestHeader(NamedTuple):
    """What stands before a request; `pos` is where the request itself begins."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    pos: int


def decode_request_header(view: memoryview, pos: int = 0) -> RequestHeader:
    """Reads the header of any request.

    An API that has no tables is read as if it were not flexible, and a version beyond the tables as
    flexible if the last of them is: enough to answer with an error code, not to read on.
    """
    try:
        api_key, api_version, correlation_id, length = _unpack_request_start(view, pos)
        pos += _REQUEST_START.size
        client_id = None
        if length != -1:
            stop = pos + length
            if not pos <= stop <= len(view):
                raise MalformedBytes("the client id has a bad length")
            encoded = bytes(view[pos:stop])
            client_id = _client_ids.get(encoded)
            if client_id is None:
                client_id = _remember_client_id(encoded)
            pos = stop
        if api_version >= _flexible_from(api_key, NEVER_FLEXIBLE):
            count = view[pos]
            pos = skip_tags(view, pos + 1, count) if count else pos + 1
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise MalformedBytes(f"request header: {error}") from error
    return RequestHeader(api_key, api_version, correlation_id, client_id, pos)


def request_header(api_key: int, api_version: int, *, correlation_id: int, client_id: str | None) -> bytes:
    """The header that a client sends."""
    encoded = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(encoded)
    tags = b"\0" if api_version >= _FLEXIBLE_FROM[api_key] else b""
    return _REQUEST_START.pack(api_key, api_version, correlation_id, length) + encoded + tags


def response_header(api_key: int, api_version: int, correlation_id: int) -> bytes:
    """The header of the response to a request of this version."""
    start = _RESPONSE_START.pack(correlation_id)
    return start + b"\0" if _has_tagged_fields(api_key, api_version) else start


def decode_response_header(view: memoryview, pos: int, api_key: int, api_version: int) -> tuple[int, int]:
    """The correlation id, and the position behind the header."""
    try:
        (correlation_id,) = _RESPONSE_START.unpack_from(view, pos)
        pos += _RESPONSE_START.size
        if _has_tagged_fields(api_key, api_version):
            pos = skip_tags(view, pos + 1, view[pos])
    except (IndexError, struct.error) as error:
        raise MalformedBytes(f"response header: {error}") from error
    return correlation_id, pos


def _has_tagged_fields(api_key: int, api_version: int) -> bool:
    return api_key != ApiKey.API_VERSIONS and api_version >= _FLEXIBLE_FROM[api_key]


def _remember_client_id(encoded: bytes) -> str:
    client_id = str(encoded, "utf-8")
    if len(_client_ids) >= CLIENT_IDS_MAX:
        _client_ids.clear()
    _client_ids[encoded] = client_id
    return client_id

"""The headers before requests and responses, read and written by hand since every message has one.

A request's header is version 1, or 2 (with tagged fields) if the request's version is flexible; a
response's is 0 or 1 accordingly, except that ApiVersions always answers with 0, since the client does not
know yet what we speak.
"""

from struct import Struct
from typing import NamedTuple

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.errors import MalformedBytes
from inkless.protocol.primitives import read_uvarint, skip_tags
from inkless.protocol.registry import APIS
from inkless.protocol.schema import NEVER_FLEXIBLE

_FLEXIBLE_FROM = {int(api.key): api.flexible_from for api in APIS.values()}
_REQUEST_START = Struct(">hhih")
_RESPONSE_START = Struct(">i")

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
    if len(view) - pos < _REQUEST_START.size:
        raise MalformedBytes("a request is shorter than its header")
    api_key, api_version, correlation_id, length = _REQUEST_START.unpack_from(view, pos)
    pos += _REQUEST_START.size
    client_id = None
    if length >= 0:
        client_id = _client_id(bytes(view[pos : pos + length]), length)
        pos += length
    elif length != -1:
        raise MalformedBytes("the client id has a negative length")
    if api_version >= _FLEXIBLE_FROM.get(api_key, NEVER_FLEXIBLE):
        pos = _skip_tagged_fields(view, pos)
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
    if len(view) - pos < _RESPONSE_START.size:
        raise MalformedBytes("a response is shorter than its header")
    (correlation_id,) = _RESPONSE_START.unpack_from(view, pos)
    pos += _RESPONSE_START.size
    if _has_tagged_fields(api_key, api_version):
        pos = _skip_tagged_fields(view, pos)
    return correlation_id, pos


def _has_tagged_fields(api_key: int, api_version: int) -> bool:
    return api_key != ApiKey.API_VERSIONS and api_version >= _FLEXIBLE_FROM[api_key]


def _skip_tagged_fields(view: memoryview, pos: int) -> int:
    try:
        count, pos = read_uvarint(view, pos)
        return skip_tags(view, pos, count) if count else pos
    except IndexError as error:
        raise MalformedBytes("the tagged fields of a header are cut short") from error


def _client_id(encoded: bytes, length: int) -> str:
    known = _client_ids.get(encoded)
    if known is not None and len(encoded) == length:
        return known
    if len(encoded) != length:
        raise MalformedBytes("the client id reaches beyond the end")
    try:
        client_id = str(encoded, "utf-8")
    except UnicodeDecodeError as error:
        raise MalformedBytes("the client id is not UTF-8") from error
    if len(_client_ids) >= CLIENT_IDS_MAX:
        _client_ids.clear()
    _client_ids[encoded] = client_id
    return client_id

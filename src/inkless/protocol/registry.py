"""Which request and response belong to which API, and in which versions we can read and write them."""

from types import MappingProxyType
from typing import Any, NamedTuple

from inkless.protocol import messages
from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import is_message, message_schema
from inkless.protocol.wire_types import Versions


class Api(NamedTuple):
    """One API of the protocol. Request and response have the same versions."""

    key: ApiKey
    request_class: type[Any]
    response_class: type[Any]
    versions: Versions
    flexible_from: int


def _collect() -> dict[ApiKey, Api]:
    apis: dict[ApiKey, Api] = {}
    for name in messages.__all__:
        request_class = getattr(messages, name)
        if name.endswith("Request") and is_message(request_class):
            schema = message_schema(request_class)
            response_class = getattr(messages, name.removesuffix("Request") + "Response")
            apis[schema.api_key] = Api(
                schema.api_key, request_class, response_class, schema.versions, schema.flexible_from
            )
    return apis


APIS = MappingProxyType(_collect())
"""Every API that has tables. What a broker serves may be less; that is said by the server."""

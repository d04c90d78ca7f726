"""Decoders and encoders of every message in every version, compiled when first asked for, then kept.

There are as many as the tables have versions, so what is kept is bounded.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from inkless.protocol.decoding import compile_decoder
from inkless.protocol.encoding import compile_chunked_encoder, compile_encoder
from inkless.protocol.errors import MalformedBytes
from inkless.protocol.headers import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    request_header,
    response_header,
)
from inkless.protocol.schema import message_schema
from inkless.protocol.wire_types import Buffer

__all__ = [
    "RequestHeader",
    "chunked_encoder",
    "decode_exactly",
    "decode_request_header",
    "decode_response_header",
    "decoder",
    "encoder",
    "request_header",
    "response_header",
]

Message = TypeVar("Message")

_decoders: dict[tuple[type[Any], int], Callable[[memoryview, int], tuple[Any, int]]] = {}
_encoders: dict[tuple[type[Any], int], Callable[[Any, bytearray], None]] = {}
_chunked_encoders: dict[tuple[type[Any], int], Callable[[Any], list[Buffer]]] = {}


def decoder(message_class: type[Message], version: int) -> Callable[[memoryview, int], tuple[Message, int]]:
    """Decodes from a buffer at a position; gives the message and the position behind it.

    The function raises `MalformedBytes` for whatever is not such a message, and nothing else. Records are
    views of the buffer, everything else is copied out of it.
    """
    key = (message_class, version)
    found = _decoders.get(key)
    if found is None:
        _check_version(message_class, version)
        found = _decoders[key] = compile_decoder(message_class, version)
    return found


def encoder(message_class: type[Message], version: int) -> Callable[[Message, bytearray], None]:
    """Appends a message to a bytearray, records included.

    The function raises `UnencodableMessage` if a value does not fit; the bytearray then holds a part of it.
    """
    key = (message_class, version)
    found = _encoders.get(key)
    if found is None:
        _check_version(message_class, version)
        found = _encoders[key] = compile_encoder(message_class, version)
    return found


def chunked_encoder(message_class: type[Message], version: int) -> Callable[[Message], list[Buffer]]:
    """Encodes a message into buffers to be sent one behind the other, records among them as they came."""
    key = (message_class, version)
    found = _chunked_encoders.get(key)
    if found is None:
        _check_version(message_class, version)
        found = _chunked_encoders[key] = compile_chunked_encoder(message_class, version)
    return found


def decode_exactly(message_class: type[Message], version: int, view: memoryview, pos: int = 0) -> Message:
    """Decodes a message that must end where the buffer ends."""
    message, stop = decoder(message_class, version)(view, pos)
    if stop != len(view):
        raise MalformedBytes(f"{len(view) - stop} bytes too many behind {message_class.__name__} v{version}")
    return message


def _check_version(message_class: type[Any], version: int) -> None:
    if version not in message_schema(message_class).versions:
        raise ValueError(f"{message_class.__name__} has no version {version}")

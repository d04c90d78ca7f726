"""One request and its response."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from inkless.protocol.codec import RequestHeader

Buffer = bytes | bytearray | memoryview

Decode = Callable[[memoryview, int], tuple[Any, int]]
Encode = Callable[[int, Any], list[Buffer]]
"""Correlation id and message to a response as buffers, length prefix and header included."""


@dataclass(slots=True, eq=False)
class Route:
    """What one version of one API needs on its way in and out; made when first asked for."""

    api_name: str
    decode: Decode
    encode: Encode
    handler: Callable[..., Any]
    request_count: int = 0


class Peer(Protocol):
    """The connection, as far as an exchange needs it."""

    listener: str
    peer_host: str

    def answered(self) -> None:
        """Something may be ready to be sent."""
        ...

    def refuse(self, why: str) -> None:
        """Closes the connection."""
        ...


class Exchange:
    """What a handler knows of the request besides its body, and how it answers.

    `frame_is_owned` says whether views of the request's bytes stay valid after the handler has returned.
    """

    __slots__ = ("_header", "_peer", "_route", "frame_is_owned", "response", "version")

    def __init__(self, route: Route, header: RequestHeader, peer: Peer, frame_is_owned: bool) -> None:
        self._route = route
        self._header = header
        self._peer = peer
        self.version = header.api_version
        self.frame_is_owned = frame_is_owned
        self.response: list[Buffer] | None = None

    @property
    def api_name(self) -> str:
        return self._route.api_name

    @property
    def client_id(self) -> str | None:
        return self._header.client_id

    @property
    def client_host(self) -> str:
        return self._peer.peer_host

    @property
    def listener(self) -> str:
        return self._peer.listener

    def reply(self, message: Any) -> None:
        """Encodes the response; it leaves when those before it have left."""
        self.response = self._route.encode(self._header.correlation_id, message)
        self._peer.answered()

    def reply_nothing(self) -> None:
        """For requests that get no response (acks=0)."""
        self.response = []
        self._peer.answered()

    def refuse(self, why: str) -> None:
        """Closes the connection: the only way to tell a client of an error it wants no response about."""
        self._peer.refuse(why)

"""One request and its response."""

from collections.abc import Callable
from typing import Any, Protocol

Buffer = bytes | bytearray | memoryview


class ResponseEncoder(Protocol):
    """A response as buffers, length prefix and header included."""

    def __call__(self, correlation_id: int, message: Any) -> list[Buffer]: ...


class Exchange:
    """What a handler knows of the request besides its body, and how it answers.

    `frame_is_owned` says whether views of the request's bytes stay valid after the handler has returned.
    """

    __slots__ = (
        "_answered",
        "_encode",
        "api_name",
        "client_host",
        "client_id",
        "correlation_id",
        "frame_is_owned",
        "listener",
        "response",
        "version",
    )

    def __init__(
        self,
        *,
        api_name: str,
        version: int,
        correlation_id: int,
        client_id: str | None,
        client_host: str,
        listener: str,
        frame_is_owned: bool,
        encode: ResponseEncoder,
        answered: Callable[[], None],
    ) -> None:
        self.api_name = api_name
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.client_host = client_host
        self.listener = listener
        self.frame_is_owned = frame_is_owned
        self.response: list[Buffer] | None = None
        self._encode = encode
        self._answered = answered

    def reply(self, message: Any) -> None:
        """Encodes the response; it leaves when those before it have left."""
        self.response = self._encode(self.correlation_id, message)
        self._answered()

    def reply_nothing(self) -> None:
        """For requests that get no response (acks=0)."""
        self.response = []
        self._answered()

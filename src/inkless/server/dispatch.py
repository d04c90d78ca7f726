"""From a frame to its handler: header, version, body, exchange."""

import inspect
import struct
from dataclasses import dataclass, field
from typing import Any

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.codec import chunked_encoder, decode_request_header, decoder, encoder, response_header
from inkless.protocol.errors import MalformedBytes
from inkless.protocol.messages import ApiVersionsRequest, FetchResponse
from inkless.server.api_table import API_TABLE, Handler, ServedApi
from inkless.server.connection import Connection, Hold
from inkless.server.context import BrokerContext
from inkless.server.exchange import Buffer, Exchange, ResponseEncoder
from inkless.server.handlers.api_versions import unsupported_version
from inkless.server.receiving import Frame

_LENGTH = struct.Struct(">i")


@dataclass(slots=True)
class RequestCounters:
    """Totals since the start, read by the metrics."""

    requests: dict[str, int] = field(default_factory=dict)
    malformed: int = 0


@dataclass(frozen=True, slots=True)
class Route:
    """What one version of one API needs on the way in and on the way out; made when first asked for."""

    name: str
    decode: Any
    encode: ResponseEncoder
    handler: Handler


class RequestDispatcher:
    """Decodes requests and hands them to their handlers."""

    def __init__(self, broker: BrokerContext) -> None:
        self._broker = broker
        self._routes: dict[tuple[int, int], Route] = {}
        self.counters = RequestCounters()

    def dispatch(self, connection: Connection, frame: Frame) -> None:
        """Raises MalformedBytes where the connection must be closed."""
        try:
            self._dispatch(connection, frame)
        except MalformedBytes:
            self.counters.malformed += 1
            raise

    def _dispatch(self, connection: Connection, frame: Frame) -> None:
        view = frame.view
        header = decode_request_header(view, 0)
        route = self._routes.get((header.api_key, header.api_version))
        if route is None:
            route = self._route(header.api_key, header.api_version)
        exchange = Exchange(
            api_name=route.name,
            version=header.api_version,
            correlation_id=header.correlation_id,
            client_id=header.client_id,
            client_host=connection.peer_host,
            listener=connection.listener,
            frame_is_owned=frame.is_owned,
            encode=route.encode,
            answered=connection.answered,
        )
        request, end = route.decode(view, header.pos)
        if end != len(view):
            raise MalformedBytes(f"{len(view) - end} bytes follow the {route.name} request")
        connection.expect(exchange)
        self.counters.requests[route.name] = self.counters.requests.get(route.name, 0) + 1
        answer = route.handler(self._broker, exchange, request)
        if answer is None:
            if self._broker.writer.saturated:
                connection.hold(Hold.PRODUCE)
                self._broker.writer.when_drained(lambda: connection.release(Hold.PRODUCE))
        elif inspect.iscoroutine(answer):
            connection.run_in_turn(exchange, answer)
        else:
            exchange.reply(answer)

    def _route(self, api_key: int, version: int) -> Route:
        api = API_TABLE.get(api_key)
        if api is not None and api.version_min <= version <= api.version_max:
            route = Route(
                api.api_key.name,
                decoder(api.request_class, version),
                _response_encoder(api, version),
                api.handler,
            )
            self._routes[api_key, version] = route
            return route
        if api_key == ApiKey.API_VERSIONS:
            # A client newer than this broker learns from an answer in version 0 what it may send (KIP-511).
            return Route(
                "API_VERSIONS", _skip_body, _response_encoder(API_TABLE[api_key], 0), unsupported_version
            )
        raise MalformedBytes(f"API {api_key} version {version} is not served")


def _skip_body(view: memoryview, pos: int) -> tuple[ApiVersionsRequest, int]:
    return ApiVersionsRequest(), len(view)


def _response_encoder(api: ServedApi, version: int) -> ResponseEncoder:
    if api.response_class is FetchResponse:
        encode_chunks = chunked_encoder(api.response_class, version)

        def encode_by_reference(correlation_id: int, message: Any) -> list[Buffer]:
            chunks = encode_chunks(message)
            header = response_header(api.api_key, version, correlation_id)
            length = len(header) + sum(map(len, chunks))
            return [_LENGTH.pack(length) + header, *chunks]

        return encode_by_reference

    encode = encoder(api.response_class, version)

    def encode_in_one(correlation_id: int, message: Any) -> list[Buffer]:
        frame = bytearray(_LENGTH.size)
        frame += response_header(api.api_key, version, correlation_id)
        encode(message, frame)
        _LENGTH.pack_into(frame, 0, len(frame) - _LENGTH.size)
        return [frame]

    return encode_in_one

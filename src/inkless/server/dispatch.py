"""From a frame to its handler: header, version, body, exchange."""

import inspect
import struct
from collections.abc import Mapping
from typing import Any

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.codec import chunked_encoder, decode_request_header, decoder, encoder, response_header
from inkless.protocol.errors import MalformedBytes
from inkless.protocol.messages import ApiVersionsRequest, FetchResponse
from inkless.server.api_table import API_TABLE, ServedApi
from inkless.server.connection import Connection, Hold
from inkless.server.context import BrokerContext
from inkless.server.exchange import Buffer, Encode, Exchange, Route
from inkless.server.handlers.api_versions import unsupported_version
from inkless.server.receiving import Frame

_LENGTH = struct.Struct(">i")


class RequestDispatcher:
    """Decodes requests and hands them to their handlers."""

    def __init__(self, broker: BrokerContext) -> None:
        self._broker = broker
        self._writer = broker.writer
        self._routes: dict[tuple[int, int], Route] = {}
        self.malformed_count = 0

    @property
    def request_counts(self) -> Mapping[str, int]:
        """Requests so far, by API."""
        counts: dict[str, int] = {}
        for route in self._routes.values():
            counts[route.api_name] = counts.get(route.api_name, 0) + route.request_count
        return counts

    def dispatch(self, connection: Connection, frame: Frame) -> None:
        """Raises MalformedBytes where the connection must be closed."""
        try:
            self._dispatch(connection, frame)
        except MalformedBytes:
            self.malformed_count += 1
            raise

    def _dispatch(self, connection: Connection, frame: Frame) -> None:
        view = frame.view
        header = decode_request_header(view, 0)
        route = self._routes.get((header.api_key, header.api_version))
        if route is None:
            route = self._route(header.api_key, header.api_version)
        # Bytes behind the request are ignored, as Kafka ignores them: librdkafka leaves some behind its
        # Metadata request for all topics.
        request, _ = route.decode(view, header.pos)
        route.request_count += 1
        exchange = Exchange(route, header, connection, frame.is_owned)
        connection.expect(exchange)
        answer = route.handler(self._broker, exchange, request)
        if answer is None:
            if self._writer.saturated:
                connection.hold(Hold.PRODUCE)
                self._writer.when_drained(lambda: connection.release(Hold.PRODUCE))
        elif inspect.iscoroutine(answer):
            connection.run_in_turn(exchange, answer)
        else:
            exchange.reply(answer)

    @property
    def memory_is_short(self) -> bool:
        return self._broker.reader.room.is_short

    def _route(self, api_key: int, version: int) -> Route:
        api = API_TABLE.get(api_key)
        if api is not None and api.version_min <= version <= api.version_max:
            decode = decoder(api.request_class, version)
            route = Route(api.api_key.name, decode, _response_encoder(api, version), api.handler)
            self._routes[api_key, version] = route
            return route
        if api_key == ApiKey.API_VERSIONS:
            # A client newer than this broker learns from an answer in version 0 what it may send (KIP-511).
            encode = _response_encoder(API_TABLE[api_key], 0)
            return Route(ApiKey.API_VERSIONS.name, _skip_body, encode, unsupported_version)
        raise MalformedBytes(f"API {api_key} version {version} is not served")


def _skip_body(view: memoryview, pos: int) -> tuple[ApiVersionsRequest, int]:
    return ApiVersionsRequest(), len(view)


def _response_encoder(api: ServedApi, version: int) -> Encode:
    # Every response header of a version is the same but for its correlation id, which stands first.
    header_rest = response_header(api.api_key, version, 0)[4:]
    pack_start = struct.Struct(">ii").pack
    if api.response_class is FetchResponse:
        encode_chunks = chunked_encoder(api.response_class, version)

        def encode_by_reference(correlation_id: int, message: Any) -> list[Buffer]:
            chunks = encode_chunks(message)
            length = 4 + len(header_rest) + sum(map(len, chunks))
            return [pack_start(length, correlation_id) + header_rest, *chunks]

        return encode_by_reference

    encode = encoder(api.response_class, version)

    def encode_in_one(correlation_id: int, message: Any) -> list[Buffer]:
        frame = bytearray(pack_start(0, correlation_id) + header_rest)
        encode(message, frame)
        _LENGTH.pack_into(frame, 0, len(frame) - 4)
        return [frame]

    return encode_in_one

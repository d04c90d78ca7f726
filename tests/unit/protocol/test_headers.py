import pytest

from inkless.protocol import headers
from inkless.protocol.api_keys import ApiKey
from inkless.protocol.codec import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    request_header,
    response_header,
)
from inkless.protocol.errors import MalformedBytes

PRODUCE_V8 = b"\x00\x00\x00\x08\x00\x00\x00\x07\x00\x02me"
PRODUCE_V9 = b"\x00\x00\x00\x09\x00\x00\x00\x07\x00\x02me\x00"


@pytest.mark.parametrize(("encoded", "version"), [(PRODUCE_V8, 8), (PRODUCE_V9, 9)])
def test_request_header_has_tags_from_the_first_flexible_version_on(encoded: bytes, version: int) -> None:
    header = decode_request_header(memoryview(encoded + b"body"), 0)
    assert header == RequestHeader(ApiKey.PRODUCE, version, 7, "me", len(encoded))
    assert request_header(ApiKey.PRODUCE, version, correlation_id=7, client_id="me") == encoded


def test_client_id_may_be_null() -> None:
    encoded = request_header(ApiKey.METADATA, 0, correlation_id=1, client_id=None)
    assert encoded.endswith(b"\xff\xff")
    assert decode_request_header(memoryview(encoded), 0).client_id is None


def test_tags_of_a_request_header_are_skipped() -> None:
    encoded = PRODUCE_V9[:-1] + b"\x01\x00\x03abc"
    assert decode_request_header(memoryview(encoded + b"body"), 0).pos == len(encoded)


def test_header_of_an_unknown_api_is_read_as_far_as_it_is_the_same_for_all() -> None:
    encoded = b"\x03\xe7\x00\x05\x00\x00\x00\x09\x00\x01x"
    assert decode_request_header(memoryview(encoded), 0) == RequestHeader(999, 5, 9, "x", len(encoded))


def test_version_beyond_the_tables_has_a_flexible_header() -> None:
    encoded = b"\x00\x12\x00\x63\x00\x00\x00\x01\xff\xff\x00"
    assert decode_request_header(memoryview(encoded), 0).pos == len(encoded)


@pytest.mark.parametrize("length", range(len(PRODUCE_V9)))
def test_every_cut_of_a_request_header_is_malformed(length: int) -> None:
    decode_request_header(memoryview(PRODUCE_V9), 0)
    with pytest.raises(MalformedBytes):
        decode_request_header(memoryview(PRODUCE_V9)[:length], 0)


@pytest.mark.parametrize("length_and_id", [b"\xff\xfe", b"\x80\x00", b"\x00\x02\xff\xff"])
def test_bad_client_id_is_malformed(length_and_id: bytes) -> None:
    with pytest.raises(MalformedBytes):
        decode_request_header(memoryview(PRODUCE_V8[:8] + length_and_id), 0)


def test_remembered_client_ids_are_bounded() -> None:
    for number in range(headers.CLIENT_IDS_MAX + 10):
        encoded = request_header(ApiKey.METADATA, 0, correlation_id=0, client_id=f"client-{number}")
        assert decode_request_header(memoryview(encoded), 0).client_id == f"client-{number}"
    assert 0 < len(headers._client_ids) <= headers.CLIENT_IDS_MAX


@pytest.mark.parametrize(
    ("api_key", "version", "encoded"),
    [
        (ApiKey.PRODUCE, 8, b"\x00\x00\x00\x07"),
        (ApiKey.PRODUCE, 9, b"\x00\x00\x00\x07\x00"),
        (ApiKey.API_VERSIONS, 3, b"\x00\x00\x00\x07"),
        (ApiKey.OFFSET_DELETE, 0, b"\x00\x00\x00\x07"),
    ],
)
def test_response_header_has_tags_if_flexible_except_for_api_versions(
    api_key: ApiKey, version: int, encoded: bytes
) -> None:
    assert response_header(api_key, version, 7) == encoded
    assert decode_response_header(memoryview(encoded), 0, api_key, version) == (7, len(encoded))
    with pytest.raises(MalformedBytes):
        decode_response_header(memoryview(encoded)[:-1], 0, api_key, version)

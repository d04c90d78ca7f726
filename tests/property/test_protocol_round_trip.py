"""What we encode we decode, and what is not a message is refused as such."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkless.protocol.codec import chunked_encoder, decode_exactly, decode_request_header, decoder, encoder
from inkless.protocol.errors import MalformedBytes
from support.protocol_messages import ALL, EXAMPLES, VersionedMessage, messages


def encode(which: VersionedMessage, message: Any) -> bytes:
    out = bytearray()
    encoder(which.message_class, which.version)(message, out)
    return bytes(out)


@pytest.mark.parametrize("which", ALL, ids=str)
@EXAMPLES
@given(data=st.data())
def test_decoding_gives_back_what_was_encoded(which: VersionedMessage, data: st.DataObject) -> None:
    message = data.draw(messages(which.message_class, which.version))
    encoded = encode(which, message)
    assert decode_exactly(which.message_class, which.version, memoryview(encoded)) == message
    assert b"".join(chunked_encoder(which.message_class, which.version)(message)) == encoded

    cut = data.draw(st.integers(0, max(0, len(encoded) - 1)))
    if encoded:
        with pytest.raises(MalformedBytes):
            decoder(which.message_class, which.version)(memoryview(encoded)[:cut], 0)
    with pytest.raises(MalformedBytes):
        decode_exactly(which.message_class, which.version, memoryview(encoded + b"\0"))


@pytest.mark.parametrize("which", ALL, ids=str)
@EXAMPLES
@given(data=st.data())
def test_any_bytes_are_a_message_or_malformed(which: VersionedMessage, data: st.DataObject) -> None:
    mutated = bytearray(encode(which, data.draw(messages(which.message_class, which.version))))
    places = st.integers(0, max(0, len(mutated) - 1))
    bytes_ = st.sampled_from([0x00, 0x01, 0x7F, 0x80, 0xFF]) | st.integers(0, 255)
    for place, byte in data.draw(st.lists(st.tuples(places, bytes_), min_size=1, max_size=8)):
        mutated[place : place + 1] = bytes([byte])
    decode = decoder(which.message_class, which.version)
    try:
        _, stop = decode(memoryview(mutated), 0)
    except MalformedBytes:
        return
    assert stop <= len(mutated)


@EXAMPLES
@given(noise=st.binary(max_size=64))
def test_any_bytes_are_a_header_or_malformed(noise: bytes) -> None:
    try:
        header = decode_request_header(memoryview(noise), 0)
    except MalformedBytes:
        return
    assert header.pos <= len(noise)

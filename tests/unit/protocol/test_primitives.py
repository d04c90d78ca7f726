import pytest

from inkless.protocol.errors import MalformedBytes
from inkless.protocol.primitives import read_uvarint, skip_tags, uvarint


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, b"\x00"),
        (1, b"\x01"),
        (127, b"\x7f"),
        (128, b"\x80\x01"),
        (300, b"\xac\x02"),
        (16383, b"\xff\x7f"),
        (16384, b"\x80\x80\x01"),
        (2**31 - 1, b"\xff\xff\xff\xff\x07"),
        (2**32 - 1, b"\xff\xff\xff\xff\x0f"),
    ],
)
def test_varints_have_seven_bits_per_byte_lowest_first(value: int, encoded: bytes) -> None:
    assert uvarint(value) == encoded
    assert read_uvarint(memoryview(b"?" + encoded + b"?"), 1) == (value, 1 + len(encoded))


def test_varint_of_six_bytes_is_malformed() -> None:
    with pytest.raises(MalformedBytes, match="longer than 5 bytes"):
        read_uvarint(memoryview(b"\x80\x80\x80\x80\x80\x01"), 0)


def test_skipped_tags_end_where_the_last_of_them_ends() -> None:
    two_tags = memoryview(b"\x00\x01A\x05\x02BC?")
    assert skip_tags(two_tags, 0, 2) == 7


def test_tag_that_reaches_beyond_the_end_is_malformed() -> None:
    with pytest.raises(MalformedBytes, match="beyond the end"):
        skip_tags(memoryview(b"\x00\x05A"), 0, 1)

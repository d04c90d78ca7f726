"""What compiled codecs call for the cases too rare or too long to stand in their own lines."""

from collections.abc import Callable
from functools import cache
from struct import Struct
from typing import Any

from inkless.protocol.errors import MalformedBytes

VARINT_BYTES_MAX = 5

SMALL_ARRAY_MAX = 16
"""Up to this many elements an array of integers has a precompiled struct."""


def uvarint_rest(view: memoryview, pos: int, value: int) -> tuple[int, int]:
    """Goes on with a varint whose first byte, already read, has its high bit set."""
    value &= 0x7F
    shift = 7
    while shift < 7 * VARINT_BYTES_MAX:
        byte = view[pos]
        pos += 1
        if byte < 0x80:
            return value | byte << shift, pos
        value |= (byte & 0x7F) << shift
        shift += 7
    raise MalformedBytes(f"a varint is longer than {VARINT_BYTES_MAX} bytes")


def read_uvarint(view: memoryview, pos: int) -> tuple[int, int]:
    """An unsigned varint of at most 5 bytes, and the position behind it."""
    value = view[pos]
    if value < 0x80:
        return value, pos + 1
    return uvarint_rest(view, pos + 1, value)


def uvarint(value: int) -> bytes:
    """The bytes of an unsigned varint."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def skip_tags(view: memoryview, pos: int, count: int) -> int:
    """Steps over tagged fields; `count` is the first byte of their number. Gives the position behind them."""
    if count > 0x7F:
        count, pos = uvarint_rest(view, pos, count)
    end = len(view)
    for _ in range(count):
        _, pos = read_uvarint(view, pos)
        size, pos = read_uvarint(view, pos)
        pos += size
        if pos > end:
            raise MalformedBytes("a tagged field reaches beyond the end")
    return pos


@cache
def unpacker(formats: str) -> Callable[[memoryview, int], tuple[Any, ...]]:
    """Reads big-endian values of these `struct` formats; the tables bound how many there are."""
    return Struct(">" + formats).unpack_from


@cache
def packer(formats: str) -> Callable[..., bytes]:
    """Writes big-endian values of these `struct` formats."""
    return Struct(">" + formats).pack


@cache
def small_array_unpackers(element: str) -> tuple[Callable[[memoryview, int], tuple[Any, ...]], ...]:
    """By the number of elements, what reads an array of them."""
    return tuple(unpacker(f"{count}{element}") for count in range(SMALL_ARRAY_MAX + 1))


@cache
def small_array_packers(prefix: str, element: str) -> tuple[Callable[..., bytes], ...]:
    """By the number of elements, what writes the array's length and the elements."""
    return tuple(packer(f"{prefix}{count}{element}") for count in range(SMALL_ARRAY_MAX + 1))

"""Lists of integers as small blobs, packed and unpacked at C speed.

A blob is one byte that names the width, then the values in two's complement, little endian, all of that
width. Varints would be a little smaller, but cost a Python loop for every value.
"""

import sys
from array import array
from collections.abc import Sequence

from inkless.errors import CorruptData

_WIDTHS = ((0x7F, "b"), (0x7FFF, "h"), (0x7FFF_FFFF, "i"), (0x7FFF_FFFF_FFFF_FFFF, "q"))
_TYPECODES = frozenset(typecode for _, typecode in _WIDTHS)


def pack_integers(values: Sequence[int]) -> bytes:
    """The values in the narrowest width that holds them all."""
    if not values:
        return b"b"
    greatest, least = max(values), min(values)
    largest = max(greatest, -1 - least)
    for limit, typecode in _WIDTHS:
        if largest <= limit:
            packed = array(typecode, values)
            if sys.byteorder == "big":
                packed.byteswap()
            return typecode.encode() + packed.tobytes()
    raise OverflowError(f"{largest} does not fit into 64 bits")


def unpack_integers(blob: bytes) -> Sequence[int]:
    """What `pack_integers` was given."""
    typecode = chr(blob[0]) if blob else ""
    if typecode not in _TYPECODES:
        raise CorruptData(f"a packed list of integers begins with {blob[:1]!r}")
    values = array(typecode)
    try:
        values.frombytes(memoryview(blob)[1:])
    except ValueError as error:
        raise CorruptData(f"a packed list of integers has {len(blob)} bytes") from error
    if sys.byteorder == "big":
        values.byteswap()
    return values

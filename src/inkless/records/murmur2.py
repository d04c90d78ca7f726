"""The hash by which Kafka's Java client spreads keys over partitions.

Every client that is to agree with it on where a key lives must compute exactly this, 32-bit overflow and the
sign included.
"""

import struct
from typing import Final

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_SHIFT: Final = 24
_MASK: Final = 0xFFFFFFFF
_POSITIVE_MASK: Final = 0x7FFFFFFF


def murmur2(data: bytes) -> int:
    """The hash as a signed 32-bit integer."""
    length = len(data)
    h = _SEED ^ length
    whole = length & ~3
    for (word,) in struct.iter_unpack("<I", memoryview(data)[:whole]):
        k = (word * _MULTIPLIER) & _MASK
        h = ((h * _MULTIPLIER) & _MASK) ^ (((k ^ (k >> _SHIFT)) * _MULTIPLIER) & _MASK)
    if whole < length:
        h = ((h ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER) & _MASK
    h = ((h ^ (h >> 13)) * _MULTIPLIER) & _MASK
    h ^= h >> 15
    return h - (1 << 32) if h > _POSITIVE_MASK else h


def partition_for_key(key: bytes, partition_count: int) -> int:
    """The partition that the Java client's default partitioner chooses for a key."""
    return (murmur2(key) & _POSITIVE_MASK) % partition_count

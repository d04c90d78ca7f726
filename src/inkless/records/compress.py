"""The five codecs of the record batch, on whole buffers, with an upper bound on what comes out.

A few kilobytes can claim to hold gigabytes. Nothing is therefore decompressed into a buffer that grows by
itself: it goes into one of fixed size, which is replaced by a larger one, up to the caller's limit, only
after the codec has really filled it.
"""

import struct
from enum import IntEnum
from typing import Final, Protocol

import cramjam

from inkless.errors import CorruptData

DECOMPRESSED_BYTES_MAX: Final = 256 << 20
"""Far above what one batch holds with any sensible `max.message.bytes`, far below a broker's memory."""

_FIRST_GUESS_BYTES_MIN: Final = 16 << 10
_FIRST_GUESS_RATIO: Final = 4
_GROWTH: Final = 4
_OUTPUT_FULL: Final = "failed to write whole buffer"

# The block stream of the snappy-java library, which Kafka's own client writes: a magic, two version numbers,
# then blocks of raw snappy, each after its length. librdkafka writes one raw block without any of it.
_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES: Final = 32 << 10
_BLOCK_LENGTH: Final = struct.Struct(">i")

# Kafka's default level for zstd; for lz4 the fastest, since the frame is what matters to the reader.
_ZSTD_LEVEL: Final = 3
_GZIP_LEVEL: Final = 6


class Codec(IntEnum):
    """The codec's number in the lowest three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class _DecompressInto(Protocol):
    def __call__(self, input: memoryview, output: bytearray, /) -> int: ...  # noqa: A002 - cramjam's name


_STREAM_DECODERS: Final[dict[Codec, _DecompressInto]] = {
    Codec.GZIP: cramjam.gzip.decompress_into,
    Codec.LZ4: cramjam.lz4.decompress_into,
    Codec.ZSTD: cramjam.zstd.decompress_into,
}


def compress(codec: Codec, data: bytes | bytearray) -> bytes:
    """Compresses as Kafka's own clients do, so that every consumer can read it."""
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            return bytes(memoryview(cramjam.gzip.compress(data, level=_GZIP_LEVEL)))
        case Codec.SNAPPY:
            return _compress_xerial(data)
        case Codec.LZ4:
            # Kafka's reader knows independent blocks only (KIP-57).
            compressor = cramjam.lz4.Compressor(content_checksum=False, block_linked=False)
            compressor.compress(bytes(data))
            return bytes(memoryview(compressor.finish()))
        case Codec.ZSTD:
            return bytes(memoryview(cramjam.zstd.compress(data, level=_ZSTD_LEVEL)))


def decompress(codec: Codec, data: memoryview, *, bytes_max: int = DECOMPRESSED_BYTES_MAX) -> bytes:
    """The plain bytes, at most `bytes_max` of them; CorruptData for anything else."""
    if codec is Codec.NONE:
        if len(data) > bytes_max:
            raise _too_large(codec, bytes_max)
        return bytes(data)
    if codec is Codec.SNAPPY:
        return _decompress_snappy(data, bytes_max)
    return _decompress_stream(codec, data, bytes_max)


def _too_large(codec: Codec, bytes_max: int) -> CorruptData:
    return CorruptData(f"{codec.name.lower()} data decompresses to more than {bytes_max} bytes")


def _decompress_stream(codec: Codec, data: memoryview, bytes_max: int) -> bytes:
    decoder = _STREAM_DECODERS[codec]
    size = min(bytes_max, max(_FIRST_GUESS_BYTES_MIN, len(data) * _FIRST_GUESS_RATIO))
    while True:
        output = bytearray(size)
        try:
            length = decoder(data, output)
        except cramjam.DecompressionError as error:
            if str(error) != _OUTPUT_FULL:
                raise CorruptData(f"bad {codec.name.lower()} data: {error}") from error
            if size >= bytes_max:
                raise _too_large(codec, bytes_max) from error
        else:
            return bytes(memoryview(output)[:length])
        size = min(bytes_max, size * _GROWTH)


def _compress_xerial(data: bytes | bytearray) -> bytes:
    view = memoryview(data)
    parts = [_XERIAL_HEADER]
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(memoryview(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK_BYTES])))
        parts += (_BLOCK_LENGTH.pack(len(block)), block)
    return b"".join(parts)


def _decompress_snappy(data: memoryview, bytes_max: int) -> bytes:
    if bytes(data[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        return _decompress_snappy_block(data, bytes_max)
    parts: list[bytes] = []
    pos = len(_XERIAL_HEADER)
    while pos < len(data):
        if len(data) - pos < _BLOCK_LENGTH.size:
            raise CorruptData("a snappy block stream ends inside a block's length")
        (length,) = _BLOCK_LENGTH.unpack_from(data, pos)
        pos += _BLOCK_LENGTH.size
        if not 0 < length <= len(data) - pos:
            raise CorruptData(f"a snappy block claims {length} bytes, {len(data) - pos} are left")
        block = _decompress_snappy_block(data[pos : pos + length], bytes_max)
        bytes_max -= len(block)
        parts.append(block)
        pos += length
    return b"".join(parts)


def _decompress_snappy_block(data: memoryview, bytes_max: int) -> bytes:
    try:
        # Raw snappy says at its start how long the output is, so a lie costs an allocation within the limit.
        length = cramjam.snappy.decompress_raw_len(data)
        if length > bytes_max:
            raise _too_large(Codec.SNAPPY, bytes_max)
        output = bytearray(length)
        cramjam.snappy.decompress_raw_into(data, output)
    except cramjam.DecompressionError as error:
        raise CorruptData(f"bad snappy data: {error}") from error
    return bytes(output)

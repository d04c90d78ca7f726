import gzip
import struct
import tracemalloc

import cramjam
import pytest

from inkless.errors import CorruptData
from inkless.records.compress import Codec, compress, decompress

COMPRESSED = [codec for codec in Codec if codec is not Codec.NONE]
TEXT = b"the quick brown fox " * 10_000
BOMB_BYTES = 64 << 20


def bomb(codec: Codec) -> bytes:
    return compress(codec, bytes(BOMB_BYTES))


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("data", [b"", b"x", TEXT], ids=["empty", "one byte", "text"])
def test_what_is_compressed_comes_back(codec: Codec, data: bytes) -> None:
    assert decompress(codec, memoryview(compress(codec, data))) == data


@pytest.mark.parametrize("codec", COMPRESSED)
def test_the_limit_is_inclusive(codec: Codec) -> None:
    data = memoryview(compress(codec, TEXT))
    assert decompress(codec, data, bytes_max=len(TEXT)) == TEXT
    with pytest.raises(CorruptData, match="more than"):
        decompress(codec, data, bytes_max=len(TEXT) - 1)


def test_the_limit_holds_for_plain_bytes_too() -> None:
    with pytest.raises(CorruptData, match="more than 3 bytes"):
        decompress(Codec.NONE, memoryview(b"abcd"), bytes_max=3)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_bomb_is_refused_before_it_takes_the_memory(codec: Codec) -> None:
    data = memoryview(bomb(codec))
    bytes_max = 1 << 20
    tracemalloc.start()
    try:
        with pytest.raises(CorruptData, match="more than"):
            decompress(codec, data, bytes_max=bytes_max)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 4 * bytes_max < BOMB_BYTES


def test_a_raw_snappy_length_that_lies_is_refused_by_the_limit() -> None:
    with pytest.raises(CorruptData, match="more than"):
        decompress(Codec.SNAPPY, memoryview(b"\xff\xff\xff\xff\x0f"), bytes_max=1 << 20)


def test_snappy_is_read_with_and_without_the_block_stream() -> None:
    raw = bytes(memoryview(cramjam.snappy.compress_raw(TEXT)))
    assert decompress(Codec.SNAPPY, memoryview(raw)) == TEXT
    framed = compress(Codec.SNAPPY, TEXT)
    assert framed.startswith(b"\x82SNAPPY\x00")
    assert decompress(Codec.SNAPPY, memoryview(framed)) == TEXT


def test_gzip_is_the_standard_one() -> None:
    assert gzip.decompress(compress(Codec.GZIP, TEXT)) == TEXT
    assert decompress(Codec.GZIP, memoryview(gzip.compress(TEXT))) == TEXT


def test_lz4_frames_have_independent_blocks() -> None:
    flags = compress(Codec.LZ4, TEXT)[4]
    assert flags & 0b0010_0000


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("cut", ["half", "garbage"])
def test_broken_data_is_corrupt(codec: Codec, cut: str) -> None:
    data = compress(codec, TEXT)
    broken = data[: len(data) // 2] if cut == "half" else b"\xfe\xed" * 20
    with pytest.raises(CorruptData):
        decompress(codec, memoryview(broken))


@pytest.mark.parametrize("length", [0, -1, 1 << 20])
def test_snappy_block_lengths_are_checked(length: int) -> None:
    stream = compress(Codec.SNAPPY, b"")[:16] + struct.pack(">i", length) + b"abc"
    with pytest.raises(CorruptData, match="block"):
        decompress(Codec.SNAPPY, memoryview(stream))


def test_a_block_stream_that_ends_in_a_length_is_corrupt() -> None:
    with pytest.raises(CorruptData, match="inside"):
        decompress(Codec.SNAPPY, memoryview(compress(Codec.SNAPPY, b"abc") + b"\x00"))

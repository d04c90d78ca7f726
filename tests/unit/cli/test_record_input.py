import io
import os
from pathlib import Path

import pytest

from inkless.cli import record_input
from inkless.cli.record_input import LineRules, read_lines


class Descriptor(io.BytesIO):
    """A stream that is nothing but its descriptor; Python refuses to open a folder itself."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor


async def lines_of(data: bytes) -> list[bytes]:
    return [line async for lines in read_lines(io.BytesIO(data)) for line in lines]


async def test_lines_are_parted_by_newlines_alone() -> None:
    assert await lines_of(b"a\r\nb\x0bc\n\n\xff") == [b"a\r", b"b\x0bc", b"", b"\xff"]


async def test_a_trailing_newline_makes_no_empty_record() -> None:
    assert await lines_of(b"one\n") == [b"one"]


async def test_no_input_is_no_record() -> None:
    assert await lines_of(b"") == []


async def test_lines_longer_than_a_chunk_stay_whole() -> None:
    long = b"x" * (3 * record_input.CHUNK_BYTES + 5)
    assert await lines_of(long + b"\nshort") == [long, b"short"]


async def test_a_file_without_newlines_is_refused_before_it_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record_input, "LINE_BYTES_MAX", 100_000)
    with pytest.raises(ValueError, match="longer than 100000 bytes"):
        await lines_of(b"x" * 400_000)


async def test_lines_come_as_soon_as_they_are_written() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream:
        lines = read_lines(stream)
        os.write(writing, b"first\nsec")
        assert await anext(lines) == [b"first"]
        os.write(writing, b"ond\n")
        assert await anext(lines) == [b"second"]
        os.close(writing)
        with pytest.raises(StopAsyncIteration):
            await anext(lines)


async def test_a_stream_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    stream = Descriptor(descriptor)
    try:
        with pytest.raises(IsADirectoryError):
            [lines async for lines in read_lines(stream)]
    finally:
        os.close(descriptor)


def test_without_separator_the_line_is_the_value() -> None:
    assert LineRules().parse(b"a:b") == (None, b"a:b")


def test_the_first_separator_ends_the_key() -> None:
    assert LineRules(key_separator=b":").parse(b"k:v:w") == (b"k", b"v:w")


def test_a_line_without_its_separator_is_an_error() -> None:
    with pytest.raises(ValueError, match="no key separator ':'"):
        LineRules(key_separator=b":").parse(b"value")


def test_the_null_text_makes_tombstones() -> None:
    rules = LineRules(key_separator=b":", null_text=b"NULL")
    assert rules.parse(b"k:NULL") == (b"k", None)
    assert rules.parse(b"NULL:v") == (None, b"v")

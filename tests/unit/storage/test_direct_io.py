"""What goes past the page cache arrives as what goes through it."""

import errno
import mmap
import os
from pathlib import Path
from typing import Any

import pytest

from inkless.errors import CorruptData
from inkless.storage.direct_io import read_whole_pages, write_whole_pages
from inkless.storage.files import ObjectFiles

PAGE = mmap.PAGESIZE


def aligned(byte_length: int) -> memoryview:
    content = memoryview(mmap.mmap(-1, byte_length + PAGE))[:byte_length]
    for start in range(0, byte_length, 251):
        content[start] = start % 256
    return content


@pytest.mark.parametrize("byte_length", [1, PAGE, 128 * 1024, 128 * 1024 + 1, 1_000_003, 8 << 20])
@pytest.mark.parametrize("start", [0, 1])
def test_every_length_and_alignment_is_stored_whole(tmp_path: Path, byte_length: int, start: int) -> None:
    store = ObjectFiles(tmp_path, fsync=True)
    content = aligned(byte_length + start)[start:]
    store.write("wal/aa/object", [content])
    assert store.read("wal/aa/object", 0, None) == bytes(content)


@pytest.mark.parametrize("byte_length", [1, 128 * 1024, 1_000_003])
@pytest.mark.parametrize("start", [0, 1, PAGE, 5 * PAGE])
@pytest.mark.parametrize("misaligned_by", [0, 1])
def test_every_range_is_read_into_every_target(
    tmp_path: Path, byte_length: int, start: int, misaligned_by: int
) -> None:
    store = ObjectFiles(tmp_path, fsync=True)
    content = aligned(byte_length + start)
    store.write("wal/aa/object", [content])
    target = aligned(byte_length + misaligned_by)[misaligned_by:]
    store.read_into("wal/aa/object", start, target)
    assert target == content[start:]


def test_a_read_past_the_end_is_told_also_past_the_page_cache(tmp_path: Path) -> None:
    store = ObjectFiles(tmp_path, fsync=True)
    store.write("wal/aa/object", [aligned(200_000)])
    with pytest.raises(CorruptData):
        store.read_into("wal/aa/object", 0, aligned(300_000))


def test_whole_pages_are_read_or_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(aligned(1_000_000))
    with (tmp_path / "file").open("rb") as file:
        assert read_whole_pages(file.fileno(), aligned(1_000_000), 0) in (0, 1_000_000 // PAGE * PAGE)


def test_a_large_aligned_buffer_really_goes_past_the_page_cache(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        written = write_whole_pages(file.fileno(), aligned(1_000_000))
    # A file system without direct writes, such as tmpfs, leaves all of it to the ordinary way.
    assert written in (0, 1_000_000 // PAGE * PAGE)
    assert (tmp_path / "file").stat().st_size == written


def test_read_only_bytes_are_left_to_the_ordinary_way(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        assert write_whole_pages(file.fileno(), bytes(1 << 20)) == 0


def test_a_device_that_refuses_halfway_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_write = os.write
    calls = 0

    def refusing(fd: int, data: Any) -> int:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise OSError(errno.EINVAL, "not aligned to its sectors")
        return real_write(fd, data[: 3 * PAGE])

    store = ObjectFiles(tmp_path, fsync=True)
    content = aligned(1 << 20)
    monkeypatch.setattr(os, "write", refusing)
    store.write("wal/aa/object", [content])
    monkeypatch.undo()
    assert store.read("wal/aa/object", 0, None) == bytes(content)

"""The folder store's files: whole or not at all, whatever the system call or the machine does."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkless.storage import files
from inkless.storage.files import ObjectFiles, write_parts


@given(
    parts=st.lists(st.binary(max_size=20), max_size=12),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=20),
    calls_max=st.integers(1, 4),
)
def test_short_writes_lose_nothing(parts: list[bytes], sizes: list[int], calls_max: int) -> None:
    written = bytearray()
    calls = 0

    def writev(_: int, views: Sequence[memoryview]) -> int:
        nonlocal calls
        assert 0 < len(views) <= calls_max
        taken = b"".join(views)[: sizes[calls % len(sizes)]]
        calls += 1
        written.extend(taken)
        return len(taken)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "writev", writev)
        patch.setattr(files, "_IOV_MAX", calls_max)
        write_parts(-1, parts)
    assert bytes(written) == b"".join(parts)


def test_parts_of_other_item_types_are_written_as_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with path.open("wb") as file:
        write_parts(file.fileno(), [memoryview(bytes(range(16))).cast("I"), b"end"])
    assert path.read_bytes() == bytes(range(16)) + b"end"


def test_a_failed_write_leaves_neither_object_nor_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ObjectFiles(tmp_path, fsync=True)

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "writev", full)
        with pytest.raises(OSError, match="No space left"):
            store.write("wal/aa/x", [b"data"])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    store.write("wal/aa/x", [b"data"])
    assert store.read("wal/aa/x", 0, None) == b"data"
    store.close()


class Syncs:
    """Records, in order, what was synced and when the object got its name."""

    def __init__(self, patch: pytest.MonkeyPatch, root: Path) -> None:
        self.events: list[str] = []
        self._root = root
        real = {name: getattr(os, name) for name in ("fsync", "fdatasync", "link")}

        def fdatasync(fd: int) -> None:
            self.events.append("data")
            real["fdatasync"](fd)

        def fsync(fd: int) -> None:
            target = Path(f"/proc/self/fd/{fd}").readlink()
            self.events.append(f"directory {target.relative_to(root)}")
            real["fsync"](fd)

        def link(source: str, target: str) -> None:
            self.events.append(f"name {Path(target).relative_to(root)}")
            real["link"](source, target)

        patch.setattr(os, "fdatasync", fdatasync)
        patch.setattr(os, "fsync", fsync)
        patch.setattr(os, "link", link)


def test_data_is_synced_before_the_name_and_the_directory_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ObjectFiles(tmp_path, fsync=True)
    syncs = Syncs(monkeypatch, tmp_path)
    store.write("wal/aa/x", [b"1"])
    assert syncs.events == ["data", "directory .", "directory wal", "name wal/aa/x", "directory wal/aa"]
    syncs.events.clear()
    store.write("wal/aa/y", [b"1"])
    assert syncs.events == ["data", "name wal/aa/y", "directory wal/aa"]
    store.close()


def test_a_put_that_finds_its_object_there_syncs_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ObjectFiles(tmp_path, fsync=True)
    store.write("x", [b"first"])
    syncs = Syncs(monkeypatch, tmp_path)
    store.write("x", [b"second"])
    assert syncs.events[-1] == "directory ."
    assert store.read("x", 0, None) == b"first"
    store.close()


def test_without_fsync_nothing_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ObjectFiles(tmp_path, fsync=False)
    syncs = Syncs(monkeypatch, tmp_path)
    store.write("wal/aa/x", [b"1"])
    assert syncs.events == ["name wal/aa/x"]
    store.close()

"""The asynchronous face of the folder store."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from inkless.errors import Unavailable
from inkless.storage.folder import FolderStore


@pytest.fixture
def go_on() -> Iterator[threading.Event]:
    """Holds a thread; let go at the end in any case, since a process waits for its threads."""
    event = threading.Event()
    yield event
    event.set()


async def test_a_cancelled_read_has_let_go_of_its_buffer(
    go_on: threading.Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FolderStore(tmp_path, fsync=False, threads_max=1)
    await store.put("x", [b"data"])
    loop = asyncio.get_running_loop()
    started = asyncio.Event()
    finished: list[bool] = []

    def slow_read(key: str, start: int, target: memoryview) -> None:
        loop.call_soon_threadsafe(started.set)
        go_on.wait()
        target[:] = b"late"
        finished.append(True)

    monkeypatch.setattr(store._files, "read_into", slow_read)
    reading = asyncio.ensure_future(store.get_into("x", 0, memoryview(bytearray(4))))
    await started.wait()
    reading.cancel()
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.sleep(0)
    assert not reading.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert finished == [True]
    await store.close()


async def test_a_cancelled_put_that_has_not_begun_never_begins(
    go_on: threading.Event, tmp_path: Path
) -> None:
    store = FolderStore(tmp_path, fsync=False, threads_max=1)
    store._threads.submit(go_on.wait)
    putting = asyncio.ensure_future(store.put("x", [b"data"]))
    await asyncio.sleep(0)
    putting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await putting
    go_on.set()
    await store.close()
    assert not (tmp_path / "x").exists()


async def test_an_error_of_the_disk_is_unavailable_with_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FolderStore(tmp_path, fsync=False)
    broken = OSError(5, "Input/output error")

    def fail(*_: object) -> None:
        raise broken

    for name in ("write", "read", "remove"):
        monkeypatch.setattr(store._files, name, fail)
    with pytest.raises(Unavailable) as put:
        await store.put("x", [b"data"])
    with pytest.raises(Unavailable) as get:
        await store.get("x")
    with pytest.raises(Unavailable) as delete:
        await store.delete(["x"])
    assert [error.value.__cause__ for error in (put, get, delete)] == [broken] * 3
    await store.close()


async def test_two_stores_on_one_folder_see_the_same_objects(tmp_path: Path) -> None:
    one, other = FolderStore(tmp_path), FolderStore(tmp_path)
    await one.put("wal/aa/x", [b"one"])
    await other.put("wal/aa/x", [b"other"])
    assert bytes(await other.get("wal/aa/x")) == b"one"
    await one.close()
    assert bytes(await other.get("wal/aa/x")) == b"one"
    await other.put("wal/aa/y", [b"y"])
    await other.close()


def test_a_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(Unavailable, match="cannot use the folder"):
        FolderStore(tmp_path / "file")

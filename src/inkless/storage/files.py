"""The blocking half of the folder store: one object is one file. Runs in the store's threads."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from inkless.storage.contract import Buffer, ObjectMeta, past_end
from inkless.storage.direct_io import read_whole_pages, write_whole_pages
from inkless.storage.incoming import IncomingFolder

_IOV_MAX: Final = os.sysconf("SC_IOV_MAX")
_DIRECTORIES_REMEMBERED_MAX: Final = 100_000


class ObjectFiles:
    """Files below a root folder, published whole or not at all.

    A file is written and synced under a temporary name and then linked to its own: a link, unlike a rename,
    refuses to replace what is there. It counts as stored when its directory is synced too, and the name of
    that directory in the one above.
    """

    def __init__(self, root: Path, *, fsync: bool) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self._root = str(root)
        self._fsync = fsync
        self._incoming = IncomingFolder(root)
        self._durable_directories: set[str] = set()

    def write(self, key: str, parts: Sequence[Buffer]) -> None:
        directory, _, name = key.rpartition("/")
        draft = self._incoming.next_path()
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            try:
                if self._fsync:
                    _write_durably(fd, parts)
                else:
                    write_parts(fd, parts)
            finally:
                os.close(fd)
            self._publish(draft, directory, name)
        finally:
            Path(draft).unlink()

    def read(self, key: str, start: int, end: int | None) -> bytes:
        fd = self._open(key)
        try:
            return _read_range(fd, key, start, end)
        finally:
            os.close(fd)

    def read_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        fd = self._open(key)
        try:
            return [_read_range(fd, key, start, end) for start, end in ranges]
        finally:
            os.close(fd)

    def read_into(self, key: str, start: int, target: memoryview) -> None:
        fd = self._open(key)
        try:
            # Without fsync the bytes may be nowhere but in the page cache.
            count = read_whole_pages(fd, target, start) if self._fsync else 0
            if count < len(target):
                count += os.preadv(fd, [target[count:]], start + count)
            if count < len(target):
                raise past_end(key, start, start + len(target), os.fstat(fd).st_size)
        finally:
            os.close(fd)

    def remove(self, keys: Sequence[str]) -> None:
        # Not synced: an object that comes back with a crash is an orphan, which the audit removes.
        # Directories stay, since removing one could take it from under a put.
        for key in keys:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                Path(self._root, key).unlink()

    def walk(self, prefix: str) -> Iterator[ObjectMeta]:
        """Every object whose key begins with `prefix`."""
        pending = [prefix.rpartition("/")[0]]
        while pending:
            directory = pending.pop()
            for entry in _entries(f"{self._root}/{directory}"):
                key = f"{directory}/{entry.name}" if directory else entry.name
                if entry.is_dir(follow_symlinks=False):
                    if key.startswith(prefix) or prefix.startswith(f"{key}/"):
                        pending.append(key)
                elif key.startswith(prefix):
                    with contextlib.suppress(FileNotFoundError):
                        found = entry.stat(follow_symlinks=False)
                        yield ObjectMeta(key, found.st_size, found.st_mtime_ns // 1_000_000)

    def close(self) -> None:
        self._incoming.close()

    def _open(self, key: str) -> int:
        return os.open(f"{self._root}/{key}", os.O_RDONLY | os.O_CLOEXEC)

    def _publish(self, draft: str, directory: str, name: str) -> None:
        self._make_directory(directory)
        path = f"{self._root}/{directory}"
        # A name that is taken is this put's own earlier success; its directory may not have been synced.
        with contextlib.suppress(FileExistsError):
            os.link(draft, f"{path}/{name}")
        if self._fsync:
            _sync_directory(path)

    def _make_directory(self, directory: str) -> None:
        if directory in self._durable_directories:
            return
        if directory:
            above = directory.rpartition("/")[0]
            self._make_directory(above)
            with contextlib.suppress(FileExistsError):
                Path(self._root, directory).mkdir()
            # Also when it was there: another process may have made it a moment ago and not synced it.
            if self._fsync:
                _sync_directory(f"{self._root}/{above}")
        if len(self._durable_directories) >= _DIRECTORIES_REMEMBERED_MAX:
            self._durable_directories.clear()
        self._durable_directories.add(directory)


def _write_durably(fd: int, parts: Sequence[Buffer]) -> None:
    if len(parts) == 1:
        written = write_whole_pages(fd, parts[0])
        parts = [memoryview(parts[0])[written:]]
    write_parts(fd, parts)
    os.fdatasync(fd)


def write_parts(fd: int, parts: Sequence[Buffer]) -> None:
    """Writes all parts at the file's position, however little each system call takes."""
    views = [view for part in parts if len(view := memoryview(part).cast("B"))]
    first = 0
    while first < len(views):
        written = os.writev(fd, views[first : first + _IOV_MAX])
        while first < len(views) and written >= len(views[first]):
            written -= len(views[first])
            first += 1
        if written:
            views[first] = views[first][written:]


def _read_range(fd: int, key: str, start: int, end: int | None) -> bytes:
    if end is None:
        byte_length = os.fstat(fd).st_size
        if start > byte_length:
            raise past_end(key, start, end, byte_length)
        end = byte_length
    # Reads of regular files are short only at the end of the file.
    data = os.pread(fd, end - start, start)
    if len(data) < end - start:
        raise past_end(key, start, end, os.fstat(fd).st_size)
    return data


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _entries(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return [entry for entry in entries if not entry.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []

"""Where the folder store writes an object before it gets its name.

Each open store has a directory of its own below `.incoming`, and holds a lock on it for as long as its
process lives. So whoever opens the same folder later can tell the left-overs of a dead process, which it
removes, from the half-written objects of a living one, which it must not touch.
"""

import errno
import fcntl
import itertools
import logging
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

INCOMING: Final = ".incoming"
_ATTEMPTS_MAX: Final = 100


class IncomingFolder:
    """A locked directory for half-written objects. All methods block."""

    def __init__(self, root: Path) -> None:
        parent = root / INCOMING
        parent.mkdir(parents=True, exist_ok=True)
        self.path, self._lock_fd = _make_locked(parent)
        _remove_leftovers(parent)
        self._numbers = itertools.count()
        self._closed = False

    def next_path(self) -> str:
        """A path nobody has used yet; safe to call from several threads."""
        return f"{self.path}/{next(self._numbers)}"

    def close(self) -> None:
        """Gives the directory up; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock_fd)


def _make_locked(parent: Path) -> tuple[str, int]:
    for _ in range(_ATTEMPTS_MAX):
        path = tempfile.mkdtemp(dir=parent)
        fd = _try_lock(path)
        if fd is None:
            continue
        # Another process that is just opening may have locked and removed the directory between its making
        # and our lock; the lock is then on a directory without a name.
        if Path(path).is_dir():
            return path, fd
        os.close(fd)
    raise OSError(errno.EAGAIN, f"cannot lock a directory below {parent}")


def _try_lock(path: str) -> int | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


def _remove_leftovers(parent: Path) -> None:
    for path in parent.iterdir():
        fd = _try_lock(str(path))
        if fd is None:
            continue
        log.info("removing half-written objects of a process that is gone", extra={"path": str(path)})
        shutil.rmtree(path, ignore_errors=True)
        os.close(fd)

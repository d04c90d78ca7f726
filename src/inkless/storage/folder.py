"""A local folder as an object store: durable, and safe for several processes at once."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from inkless.errors import Unavailable
from inkless.storage.contract import Buffer, ObjectMeta, ObjectMissing, check_range
from inkless.storage.files import ObjectFiles
from inkless.storage.keys import check_key, check_prefix

_PAGE_OBJECTS: Final = 1000

P = ParamSpec("P")
T = TypeVar("T")


class FolderStore:
    """Does the work of `ObjectFiles` in its own threads, so that a slow disk never stops the event loop."""

    def __init__(self, root: Path, *, fsync: bool = True, threads_max: int = 8) -> None:
        try:
            self._files = ObjectFiles(root, fsync=fsync)
        except OSError as error:
            raise Unavailable(f"cannot use the folder {root} for objects: {error}") from error
        self._threads = ThreadPoolExecutor(threads_max, thread_name_prefix="inkless-folder")

    async def put(self, key: str, parts: Sequence[Buffer]) -> None:
        check_key(key)
        try:
            await self._in_thread(self._files.write, key, parts)
        except OSError as error:
            raise Unavailable(f"put of {key}: {error}") from error

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> memoryview:
        if end is not None:
            check_range(start, end)
        return memoryview(await self._read(key, self._files.read, key, start, end))

    async def get_into(self, key: str, start: int, target: memoryview) -> None:
        check_range(start, start + len(target))
        await self._read(key, self._files.read_into, key, start, target)

    async def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        for start, end in ranges:
            check_range(start, end)
        found = await self._read(key, self._files.read_ranges, key, ranges)
        return [memoryview(data) for data in found]

    async def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            check_key(key)
        try:
            await self._in_thread(self._files.remove, keys)
        except OSError as error:
            raise Unavailable(f"delete of {len(keys)} objects: {error}") from error

    async def list(self, prefix: str) -> AsyncIterator[list[ObjectMeta]]:
        check_prefix(prefix)
        found = self._files.walk(prefix)
        try:
            while page := await self._in_thread(_next_page, found):
                yield page
        except OSError as error:
            raise Unavailable(f"list of {prefix!r}: {error}") from error

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        self._files.close()

    async def _read(self, key: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        check_key(key)
        try:
            return await self._in_thread(work, *args, **kwargs)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
            raise ObjectMissing(key) from error
        except OSError as error:
            raise Unavailable(f"get of {key}: {error}") from error

    async def _in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs `work` in a thread. A cancelled caller still waits for it: the thread holds its buffers."""
        try:
            job = self._threads.submit(work, *args, **kwargs)
        except RuntimeError as error:
            raise Unavailable("the folder store is closed") from error
        answer = asyncio.wrap_future(job)
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            job.cancel()
            await _settled(answer)
            raise


def _next_page(found: Iterator[ObjectMeta]) -> list[ObjectMeta]:
    return list(itertools.islice(found, _PAGE_OBJECTS))


async def _settled(answer: asyncio.Future[T]) -> None:
    while not answer.done():
        try:
            await asyncio.wait([answer])
        except asyncio.CancelledError:
            continue
    if not answer.cancelled():
        answer.exception()

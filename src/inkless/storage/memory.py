"""Objects in this process's memory: for tests and for trying things out. Nothing survives the process."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from inkless.clock import Clock
from inkless.errors import Unavailable
from inkless.storage.contract import Buffer, ObjectMeta, ObjectMissing, check_range, past_end
from inkless.storage.keys import check_key, check_prefix

_PAGE_OBJECTS: Final = 1000


class MemoryStore:
    """A dictionary that keeps the contract of a store; puts copy, gets do not."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._objects: dict[str, tuple[bytes, int]] = {}
        self._closed = False

    async def put(self, key: str, parts: Sequence[Buffer]) -> None:
        check_key(key)
        self._check_open()
        if key not in self._objects:
            self._objects[key] = (b"".join(parts), self._clock.now_ms())

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> memoryview:
        return self._slice(key, start, end)

    async def get_into(self, key: str, start: int, target: memoryview) -> None:
        target[:] = self._slice(key, start, start + len(target))

    async def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        return [self._slice(key, start, end) for start, end in ranges]

    async def delete(self, keys: Sequence[str]) -> None:
        self._check_open()
        for key in keys:
            check_key(key)
        for key in keys:
            self._objects.pop(key, None)

    async def list(self, prefix: str) -> AsyncIterator[list[ObjectMeta]]:
        check_prefix(prefix)
        self._check_open()
        found = [
            ObjectMeta(key, len(data), modified_ms)
            for key, (data, modified_ms) in self._objects.items()
            if key.startswith(prefix)
        ]
        for first in range(0, len(found), _PAGE_OBJECTS):
            yield found[first : first + _PAGE_OBJECTS]

    async def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("the memory store is closed")

    def _slice(self, key: str, start: int, end: int | None) -> memoryview:
        check_key(key)
        self._check_open()
        if key not in self._objects:
            raise ObjectMissing(key)
        data = self._objects[key][0]
        if end is not None:
            check_range(start, end)
        if max(start, end or 0) > len(data):
            raise past_end(key, start, end, len(data))
        return memoryview(data)[start:end]

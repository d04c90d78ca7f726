"""Counts what a store is asked: requests cost money, bytes cost time, and both are shown to the operator."""

import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from enum import StrEnum

from inkless.clock import Clock
from inkless.observability.histogram import Histogram
from inkless.storage.contract import Buffer, ObjectMeta, ObjectMissing, ObjectStore


class Verb(StrEnum):
    """What can be asked of a store."""

    PUT = "put"
    GET = "get"
    DELETE = "delete"
    LIST = "list"


class VerbCounts:
    """Plain numbers of one verb, for a collector to read whenever it likes.

    `byte_count` is the payload that went through. `latency_s` has requests that failed in it as well.
    """

    __slots__ = ("byte_count", "error_count", "latency_s", "missing_count", "request_count")

    def __init__(self) -> None:
        self.request_count = 0
        self.error_count = 0
        self.missing_count = 0
        self.byte_count = 0
        self.latency_s = Histogram()


class StoreMeter:
    """All counts of one store. A hedge is a read sent a second time; it is in the counts of GET too."""

    __slots__ = ("by_verb", "hedge_count", "hedge_win_count")

    def __init__(self) -> None:
        self.by_verb = {verb: VerbCounts() for verb in Verb}
        self.hedge_count = 0
        self.hedge_win_count = 0


class MeteredStore:
    """A store that counts what goes through it. Every key of a delete counts as one request."""

    def __init__(self, store: ObjectStore, clock: Clock, meter: StoreMeter) -> None:
        self._store = store
        self._clock = clock
        self._by_verb = meter.by_verb

    async def put(self, key: str, parts: Sequence[Buffer]) -> None:
        with self._measured(Verb.PUT) as counts:
            await self._store.put(key, parts)
            counts.byte_count += sum(memoryview(part).nbytes for part in parts)

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> memoryview:
        with self._measured(Verb.GET) as counts:
            data = await self._store.get(key, start=start, end=end)
            counts.byte_count += len(data)
            return data

    async def get_into(self, key: str, start: int, target: memoryview) -> None:
        with self._measured(Verb.GET) as counts:
            await self._store.get_into(key, start, target)
            counts.byte_count += target.nbytes

    async def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        with self._measured(Verb.GET) as counts:
            found = await self._store.get_ranges(key, ranges)
            counts.byte_count += sum(len(data) for data in found)
            return found

    async def delete(self, keys: Sequence[str]) -> None:
        with self._measured(Verb.DELETE, requests=len(keys)):
            await self._store.delete(keys)

    async def list(self, prefix: str) -> AsyncIterator[list[ObjectMeta]]:
        pages = aiter(self._store.list(prefix))
        # The last page says that it is the last, so only an empty listing costs a request without a page.
        requests = 1
        while True:
            with self._measured(Verb.LIST, requests=requests) as counts:
                page = await anext(pages, None)
            if page is None:
                return
            counts.request_count += 1 - requests
            requests = 0
            yield page

    async def close(self) -> None:
        await self._store.close()

    @contextlib.contextmanager
    def _measured(self, verb: Verb, *, requests: int = 1) -> Iterator[VerbCounts]:
        counts = self._by_verb[verb]
        counts.request_count += requests
        start = self._clock.monotonic()
        try:
            yield counts
        except ObjectMissing:
            counts.missing_count += 1
            raise
        except Exception:
            counts.error_count += 1
            raise
        finally:
            counts.latency_s.observe(self._clock.monotonic() - start)

"""S3, Google Cloud Storage and Azure Blob through obstore, the only library that knows their protocols.

obstore repeats failed requests itself, within the limits that `remote_client` sets. Here its errors become
ours, with the cause kept, and every request gets a last deadline that those limits should never let it reach.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import ObjectStore as Client

from inkless.errors import Unavailable
from inkless.storage.contract import Buffer, ObjectMeta, ObjectMissing, check_range, past_end
from inkless.storage.keys import check_key, check_prefix
from inkless.storage.spans import Span, merge_ranges

_PAGE_OBJECTS: Final = 1000
_DELETES_MAX: Final = 1000
"""How many keys S3 takes in one request."""
_GAP_BYTES_MAX: Final = 1 << 20
_SPAN_BYTES_MAX: Final = 16 << 20
_SPANS_AT_ONCE_MAX: Final = 8


class RemoteStore:
    """Objects behind an obstore client; `deadline_ms` ends any single request."""

    def __init__(self, client: Client, *, deadline_ms: int) -> None:
        self._client = client
        self._deadline_s = deadline_ms / 1000
        self._closed = False

    async def put(self, key: str, parts: Sequence[Buffer]) -> None:
        check_key(key)
        # A create that is sent again after a lost answer finds its own object: with unique keys that is
        # success. Never in several parts: a multipart upload costs three requests at least.
        with self._asking("put", key), contextlib.suppress(AlreadyExistsError):
            async with asyncio.timeout(self._deadline_s):
                await obstore.put_async(self._client, key, list(parts), mode="create", use_multipart=False)

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> memoryview:
        check_key(key)
        if end is None:
            return await self._get_rest(key, start)
        length = check_range(start, end)
        if length == 0:
            return memoryview(b"")
        with self._reading(key, start, end):
            async with asyncio.timeout(self._deadline_s):
                answer = await obstore.get_range_async(self._client, key, start=start, end=end)
        data = memoryview(answer)
        if len(data) != length:
            raise past_end(key, start, end, start + len(data))
        return data

    async def get_into(self, key: str, start: int, target: memoryview) -> None:
        target[:] = await self.get(key, start=start, end=start + len(target))

    async def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        # Merged here and not by the library's own call, which panics where a range lies past the end.
        spans = merge_ranges(ranges, gap_bytes_max=_GAP_BYTES_MAX, span_bytes_max=_SPAN_BYTES_MAX)
        found = [memoryview(b"")] * len(ranges)
        for first in range(0, len(spans), _SPANS_AT_ONCE_MAX):
            some = spans[first : first + _SPANS_AT_ONCE_MAX]
            for span, data in zip(some, await self._get_spans(key, some), strict=True):
                for position in span.members:
                    start, end = ranges[position]
                    found[position] = data[start - span.start : end - span.start]
        return found

    async def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            check_key(key)
        for first in range(0, len(keys), _DELETES_MAX):
            await self._delete_some(keys[first : first + _DELETES_MAX])

    async def list(self, prefix: str) -> AsyncIterator[list[ObjectMeta]]:
        check_prefix(prefix)
        # The library compares prefixes part by part: it is asked for the folder, and the rest is done here.
        folder = prefix.rpartition("/")[0]
        with self._asking("list", prefix):
            pages = obstore.list(self._client, folder or None, chunk_size=_PAGE_OBJECTS)
            while True:
                async with asyncio.timeout(self._deadline_s):
                    page = await anext(pages, None)
                if page is None:
                    return
                yield [
                    ObjectMeta(entry["path"], entry["size"], int(entry["last_modified"].timestamp() * 1000))
                    for entry in page
                    if entry["path"].startswith(prefix)
                ]

    async def close(self) -> None:
        self._closed = True

    async def _get_rest(self, key: str, start: int) -> memoryview:
        with self._reading(key, start, None):
            async with asyncio.timeout(self._deadline_s):
                # No range at 0: an empty object has no byte with which one could start.
                if start == 0:
                    answer = await obstore.get_async(self._client, key)
                else:
                    answer = await obstore.get_async(self._client, key, options={"range": {"offset": start}})
                return memoryview(await answer.bytes_async())

    async def _get_spans(self, key: str, spans: Sequence[Span]) -> Sequence[memoryview]:
        answers = await asyncio.gather(
            *(self.get(key, start=span.start, end=span.end) for span in spans), return_exceptions=True
        )
        found: list[memoryview] = []
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            found.append(answer)
        return found

    async def _delete_some(self, keys: Sequence[str]) -> None:
        with self._asking("delete", f"{len(keys)} objects"):
            async with asyncio.timeout(self._deadline_s):
                try:
                    await obstore.delete_async(self._client, keys)
                except FileNotFoundError:
                    # Stores without a bulk request stop at the first key that is not there.
                    for key in keys:
                        with contextlib.suppress(FileNotFoundError):
                            await obstore.delete_async(self._client, key)

    @contextlib.contextmanager
    def _reading(self, key: str, start: int, end: int | None) -> Iterator[None]:
        with self._asking("get", key):
            try:
                yield
            except FileNotFoundError as error:
                raise ObjectMissing(key) from error
            except BaseError as error:
                # The one answer to a range past the end on which all stores agree is the HTTP status.
                if "416 Range Not Satisfiable" in str(error):
                    raise past_end(key, start, end) from error
                raise

    @contextlib.contextmanager
    def _asking(self, verb: str, what: str) -> Iterator[None]:
        if self._closed:
            raise Unavailable("the remote store is closed")
        try:
            yield
        except TimeoutError as error:
            raise Unavailable(f"{verb} of {what}: no answer within {self._deadline_s} s") from error
        except (BaseError, OSError) as error:
            raise Unavailable(f"{verb} of {what}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    """The library's messages go on for pages, with the whole request in its debug form."""
    return str(error).partition("\n")[0][:500]

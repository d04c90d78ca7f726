"""What brokers and pipeline ask of object storage.

Keys are relative to the storage URL's prefix, with `/` between their parts (`keys.check_key` says what a part
may hold). Objects are immutable: a key is written once. Every method raises `errors.Unavailable` once its
deadline or its retries are used up, and may then be repeated.
"""

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol

from inkless.errors import CorruptData, InvariantViolated

Buffer = bytes | bytearray | memoryview

RANGE_BYTES_MAX = 1 << 30
"""No read asks for more at once; far above any WAL object, below what one system call reads."""


class ObjectMeta(NamedTuple):
    """One object as a listing shows it."""

    key: str
    byte_length: int
    modified_ms: int


class ObjectMissing(LookupError):
    """No object has that key; not retried."""


class ObjectStore(Protocol):
    """Immutable objects by key."""

    async def put(self, key: str, parts: Sequence[Buffer]) -> None:
        """Writes the parts, one behind the other, as one object; durable when it returns.

        The buffers must stay untouched until then. Keys are unique, so an answer "already exists" to a
        retried put is this put's own success: of several writers of one key the first wins and all succeed.
        """
        ...

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> memoryview:
        """The bytes [start, end) of an object, up to its end where `end` is None.

        Raises ObjectMissing; a range past the object's end is CorruptData, since coordinates never point
        there. An empty range may be answered without a look at the object.
        """
        ...

    async def get_into(self, key: str, start: int, target: memoryview) -> None:
        """Fills `target` with the `len(target)` bytes from `start` on; errors as with `get`.

        Whatever happens, cancellation included, nothing writes to `target` after this has returned or raised:
        the buffer can go back to its pool at once.
        """
        ...

    async def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        """Several ranges [start, end) of one object, in the order asked; near ones may be read with one
        request."""
        ...

    async def delete(self, keys: Sequence[str]) -> None:
        """Removes objects; a key that is not there is not an error."""
        ...

    def list(self, prefix: str) -> AsyncIterator[list[ObjectMeta]]:
        """Objects whose key begins with `prefix`, page by page, in no particular order.

        What is put or deleted meanwhile may or may not be seen.
        """
        ...

    async def close(self) -> None:
        """Waits for what is under way; calls after it raise Unavailable."""
        ...


def check_range(start: int, end: int) -> int:
    """The length of [start, end); a range that no caller can mean is our own bug."""
    length = end - start
    if start < 0 or not 0 <= length <= RANGE_BYTES_MAX:
        raise InvariantViolated(f"no byte range: [{start}, {end})")
    return length


def past_end(key: str, start: int, end: int | None, byte_length: int | None = None) -> CorruptData:
    """The error for coordinates that point past the end of their object."""
    asked = f"bytes [{start}, {'end' if end is None else end}) were asked for"
    known = "" if byte_length is None else f", which has {byte_length}"
    return CorruptData(f"{asked} of object {key}{known}")

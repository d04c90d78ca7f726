"""Cuts a byte stream into frames without copying large ones.

All connections of an event loop read into one scratch buffer, since a read is handled before the next one
begins. Only a frame that did not arrive whole gets memory of its own, of exactly its size, and the rest of it
is received in place. So an idle connection holds no buffer, and the records of a large Produce request are
where the kernel put them.
"""

import struct
from collections.abc import Callable
from typing import NamedTuple

from inkless.buffers import BufferPool
from inkless.protocol.errors import MalformedBytes

_LENGTH = struct.Struct(">i")
_LENGTH_BYTES = _LENGTH.size


class Frame(NamedTuple):
    """A request without its length prefix. `is_owned`: the bytes stay; otherwise they are gone once the
    handling of the frame returns."""

    view: memoryview
    is_owned: bool


class ReceiveMemory:
    """What all connections of a loop share: the scratch buffer and the budget for partial frames."""

    def __init__(self, *, scratch_bytes: int, pool: BufferPool, bytes_max: int) -> None:
        self.scratch = memoryview(bytearray(scratch_bytes))
        self._pool = pool
        self._bytes_max = bytes_max

    def try_lease(self, byte_length: int) -> memoryview | None:
        """Memory for a frame, or None when too much is held already. One frame is always let in."""
        if self._pool.leased_bytes and self._pool.leased_bytes + byte_length > self._bytes_max:
            return None
        return self._pool.lease(byte_length)

    def when_returned(self, callback: Callable[[], None]) -> None:
        """Calls back once, perhaps from another thread. Who does not use the chance calls `pass_on`."""
        self._pool.when_returned(callback)
        if not self._pool.leased_bytes:
            # The last lease ended, in another thread, since it was asked for; no other will.
            self._pool.wake_next()

    @property
    def returned_count(self) -> int:
        """Grows whenever memory comes back, which is when those who wait may hope again."""
        return self._pool.returned_count

    def pass_on(self) -> None:
        """Gives the next one that waits its chance."""
        self._pool.wake_next()


class FrameReceiver:
    """The receiving half of one connection; sans I/O.

    Usage: `buffer()`, fill some of it, `received(n)` → frames. When `starved` is true a frame waits for
    memory: stop reading, and call `retry()` after `ReceiveMemory.when_returned`.
    """

    __slots__ = ("_filled", "_frame_bytes_max", "_memory", "_partial", "_pending", "starved")

    def __init__(self, memory: ReceiveMemory, *, frame_bytes_max: int) -> None:
        self._memory = memory
        self._frame_bytes_max = frame_bytes_max
        self._partial: memoryview | None = None
        self._filled = 0
        self._pending = b""
        """The beginning of a frame, length prefix included, for which there is no memory yet."""
        self.starved = False

    @property
    def holds_memory(self) -> bool:
        """Whether a frame that has begun takes from what all connections share."""
        return self._partial is not None and len(self._partial) > len(self._memory.scratch)

    def buffer(self) -> memoryview:
        """Where the next bytes go; never empty."""
        if self._partial is not None:
            return self._partial[self._filled :]
        return self._memory.scratch

    def received(self, byte_count: int) -> list[Frame]:
        """The frames that are whole now. Raises MalformedBytes for a length that no frame has."""
        if self._partial is None:
            return self._cut(self._memory.scratch[:byte_count])
        self._filled += byte_count
        if self._filled < len(self._partial):
            return []
        whole = self._partial
        self._partial = None
        if len(whole) == _LENGTH_BYTES:
            self._begin(bytes(whole))
            return []
        return [Frame(whole[_LENGTH_BYTES:], is_owned=True)]

    def retry(self) -> bool:
        """Tries again to get memory for the frame that waits; true when there was some."""
        pending, self._pending = self._pending, b""
        self.starved = False
        self._begin(pending)
        return not self.starved

    def abandon(self) -> None:
        """Gives up the memory of a frame that will not be completed."""
        self._partial = None

    def _cut(self, data: memoryview) -> list[Frame]:
        frames: list[Frame] = []
        position = 0
        end = len(data)
        while end - position >= _LENGTH_BYTES:
            (length,) = _LENGTH.unpack_from(data, position)
            frame_end = position + _LENGTH_BYTES + length
            self._check(length)
            if frame_end > end:
                break
            frames.append(Frame(data[position + _LENGTH_BYTES : frame_end], is_owned=False))
            position = frame_end
        if position < end:
            self._begin(bytes(data[position:]))
        return frames

    def _check(self, length: int) -> None:
        if not 0 < length <= self._frame_bytes_max:
            raise MalformedBytes(f"a request of {length} bytes; allowed are 1 to {self._frame_bytes_max}")

    def _begin(self, beginning: bytes) -> None:
        """Makes room for a frame of which only `beginning` has arrived."""
        if len(beginning) < _LENGTH_BYTES:
            room = memoryview(bytearray(_LENGTH_BYTES))
        else:
            (length,) = _LENGTH.unpack_from(beginning)
            self._check(length)
            leased = self._room(_LENGTH_BYTES + length)
            if leased is None:
                self._pending = beginning
                self.starved = True
                return
            room = leased
        room[: len(beginning)] = beginning
        self._partial = room
        self._filled = len(beginning)

    def _room(self, byte_length: int) -> memoryview | None:
        if byte_length <= len(self._memory.scratch):
            return memoryview(bytearray(byte_length))
        return self._memory.try_lease(byte_length)

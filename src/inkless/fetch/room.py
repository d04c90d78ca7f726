"""The budget for object bytes in memory, shared by all fetches."""

from inkless.buffers import BufferPool
from inkless.clock import Clock

_LOOK_AGAIN_SECONDS = 0.02


class ReadRoom:
    """Lets fetches bring objects into memory while there is room, and makes them wait while there is not.

    What is being written, what the cache keeps and what clients have not yet taken from their responses all
    counts, since a view keeps its object whether the cache does or not. A fetch that is let in may pass the
    limit by what it reads; the next one then waits.
    """

    def __init__(self, pool: BufferPool, *, bytes_max: int, clock: Clock) -> None:
        self._pool = pool
        self._bytes_max = bytes_max
        self._clock = clock
        self._reserved_bytes = 0
        self._waiting = 0

    @property
    def bytes_left(self) -> int:
        """Negative when more is in memory than there should be."""
        return self._bytes_max - self._pool.leased_bytes - self._reserved_bytes

    @property
    def is_short(self) -> bool:
        """Whether somebody waits for room."""
        return self._waiting > 0

    async def take(self, byte_length: int, *, wait_s: float) -> bool:
        """Reserves room for bytes that are about to be read; false when there was none in time."""
        if self.bytes_left <= 0 and not await self._wait_for_room(wait_s):
            return False
        self._reserved_bytes += byte_length
        return True

    def give_back(self, byte_length: int) -> None:
        """Ends a reservation; what was read counts by itself from now on."""
        self._reserved_bytes -= byte_length

    async def _wait_for_room(self, wait_s: float) -> bool:
        # Looking again and again costs little, is needed only under pressure, and cannot miss a wake-up from
        # the threads in which leases end.
        deadline = self._clock.monotonic() + wait_s
        self._waiting += 1
        try:
            while self.bytes_left <= 0:
                if self._clock.monotonic() >= deadline:
                    return False
                await self._clock.sleep(_LOOK_AGAIN_SECONDS)
            return True
        finally:
            self._waiting -= 1

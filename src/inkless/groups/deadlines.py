"""Times at which something happens unless they are moved, which most are, again and again."""

import heapq
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple


class Wait(Enum):
    """What a group waits for."""

    HEARTBEAT = auto()
    """A member's next sign of life."""
    RETURN = auto()
    """The second join of a member that was sent away with a member id."""
    JOINS = auto()
    """The end of the time in which members may join the next generation."""
    SYNCS = auto()
    """The end of the time in which members must ask for their assignment."""


class Deadline(NamedTuple):
    """`member_id` is empty for the waits of the whole group."""

    wait: Wait
    member_id: str = ""


class Deadlines:
    """Moving a deadline later costs nothing: the heap keeps the old time, and finds out when that has come.

    A deadline has at most one entry in the heap that counts, so there are about as many as there are
    deadlines; entries that were overtaken by an earlier time, or cleared, leave when theirs has come.
    """

    def __init__(self) -> None:
        self._at: dict[Deadline, int] = {}
        self._entry_at: dict[Deadline, int] = {}
        self._heap: list[tuple[int, int, Deadline]] = []
        self._pushed = 0

    def set(self, deadline: Deadline, at_ms: int) -> None:
        self._at[deadline] = at_ms
        entry_at = self._entry_at.get(deadline)
        if entry_at is None or at_ms < entry_at:
            self._push(deadline, at_ms)

    def clear(self, deadline: Deadline) -> None:
        self._at.pop(deadline, None)

    def get(self, deadline: Deadline) -> int | None:
        return self._at.get(deadline)

    def wake_at(self) -> int | None:
        """When to look again: not later than the first deadline, sometimes earlier."""
        while self._heap and self._is_obsolete(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now_ms: int) -> Iterator[Deadline]:
        """Removes and gives what has come; the caller may set and clear others meanwhile."""
        while (wake_at := self.wake_at()) is not None and wake_at <= now_ms:
            _, _, deadline = heapq.heappop(self._heap)
            del self._entry_at[deadline]
            at_ms = self._at[deadline]
            if at_ms > now_ms:
                self._push(deadline, at_ms)
            else:
                del self._at[deadline]
                yield deadline

    def _push(self, deadline: Deadline, at_ms: int) -> None:
        self._pushed += 1
        self._entry_at[deadline] = at_ms
        # The number keeps the order of equal times, and keeps deadlines from being compared.
        heapq.heappush(self._heap, (at_ms, self._pushed, deadline))

    def _is_obsolete(self, entry: tuple[int, int, Deadline]) -> bool:
        at_ms, _, deadline = entry
        if self._entry_at.get(deadline) != at_ms:
            return True
        if deadline not in self._at:
            del self._entry_at[deadline]
            return True
        return False

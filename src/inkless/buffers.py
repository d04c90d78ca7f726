"""Reused memory for bytes that pass through the broker.

A fresh 8 MiB buffer costs several milliseconds in page faults, a touched one nothing, so buffers go round in
a pool. A lease ends by itself when the last view of it is gone: a response that is still being sent keeps its
bytes, whatever the cache has decided about them in the meantime, and nobody has to remember to give back.
"""

import ctypes
import mmap
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

_CLASS_BYTES_MIN = 64 * 1024


def size_class(byte_length: int) -> int:
    """The capacity that serves `byte_length`: powers of two in quarter steps, a quarter at most is idle."""
    if byte_length <= _CLASS_BYTES_MIN:
        return _CLASS_BYTES_MIN
    step = 1 << ((byte_length - 1).bit_length() - 3)
    return -(-byte_length // step) * step


def capacity_of(view: memoryview) -> int:
    """The memory that a view keeps from being used for anything else."""
    return len(view.obj) if isinstance(view.obj, ctypes.Array) else view.nbytes


class BufferPool:
    """Leases writable buffers and takes them back when nothing refers to them any more.

    Buffers begin on a page, so that they can be written past the page cache.

    `leased_bytes` counts what is out, by capacity, and `returned_count` the leases that have ended.
    `idle_bytes_max` bounds what is kept for reuse; beyond it, what has been idle longest goes. The pool does
    not refuse: who must stay within a limit asks `leased_bytes` first and waits with `when_returned`.
    """

    def __init__(self, *, idle_bytes_max: int) -> None:
        self._idle_bytes_max = idle_bytes_max
        self._idle: OrderedDict[int, mmap.mmap] = OrderedDict()
        self._idle_by_capacity: dict[int, list[int]] = {}
        self._idle_bytes = 0
        self._ticket = 0
        self._lease_types: dict[int, Any] = {}
        self._waiting: deque[Callable[[], None]] = deque()
        # Leases may end in a storage thread; re-entrant, since one may end while another begins.
        self._lock = threading.RLock()
        self.leased_bytes = 0
        self.returned_count = 0

    @property
    def idle_bytes(self) -> int:
        return self._idle_bytes

    def lease(self, byte_length: int) -> memoryview:
        """A writable view of exactly `byte_length` bytes, with whatever its last user left in them."""
        with self._lock:
            slab = self._take_idle(size_class(byte_length)) or mmap.mmap(-1, size_class(byte_length))
            capacity = len(slab)
            self.leased_bytes += capacity
        lease = self._lease_type(capacity).from_buffer(slab)
        lease.slab = slab
        return memoryview(lease).cast("B")[:byte_length]

    def when_returned(self, callback: Callable[[], None]) -> None:
        """Calls back once, after some lease has ended; perhaps from another thread."""
        self._waiting.append(callback)

    def wake_next(self) -> None:
        """Calls back the one who has waited longest."""
        with self._lock:
            waiting = self._waiting.popleft() if self._waiting else None
        if waiting is not None:
            waiting()

    def _lease_type(self, capacity: int) -> Any:
        lease_type = self._lease_types.get(capacity)
        if lease_type is None:
            take_back = self._take_back

            def end_of_lease(lease: Any) -> None:
                take_back(lease.slab)

            # Views keep the ctypes array alive, not the mapping, which makes its end the end of the lease.
            lease_type = type("Lease", (ctypes.c_char * capacity,), {"__del__": end_of_lease})
            self._lease_types[capacity] = lease_type
        return lease_type

    def _take_idle(self, capacity: int) -> mmap.mmap | None:
        """An idle buffer of this capacity, or the next larger one up to twice as much: a touched buffer that
        is too large costs less than a fresh one that fits."""
        largest = 2 * capacity
        while capacity <= largest:
            tickets = self._idle_by_capacity.get(capacity)
            if tickets:
                slab = self._idle.pop(tickets.pop())
                self._idle_bytes -= capacity
                return slab
            capacity = size_class(capacity + 1)
        return None

    def _take_back(self, slab: mmap.mmap) -> None:
        capacity = len(slab)
        with self._lock:
            self.leased_bytes -= capacity
            self.returned_count += 1
            if capacity <= self._idle_bytes_max:
                self._ticket += 1
                self._idle[self._ticket] = slab
                self._idle_by_capacity.setdefault(capacity, []).append(self._ticket)
                self._idle_bytes += capacity
            while self._idle_bytes > self._idle_bytes_max:
                ticket, oldest = self._idle.popitem(last=False)
                self._idle_by_capacity[len(oldest)].remove(ticket)
                self._idle_bytes -= len(oldest)
        self.wake_next()

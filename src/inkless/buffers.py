"""Reused memory for bytes that pass through the broker.

A fresh 8 MiB buffer costs several milliseconds in page faults, a touched one nothing, so buffers go round in
a pool. A lease ends by itself when the last view of it is gone: a response that is still being sent keeps its
bytes, whatever the cache has decided about them in the meantime, and nobody has to remember to give back.
"""

import ctypes
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

_CLASS_BYTES_MIN = 64 * 1024


def size_class(byte_length: int) -> int:
    """The capacity that serves `byte_length`: powers of two in quarter steps, a quarter at most is idle."""
    if byte_length <= _CLASS_BYTES_MIN:
        return _CLASS_BYTES_MIN
    step = 1 << ((byte_length - 1).bit_length() - 3)
    return -(-byte_length // step) * step


class BufferPool:
    """Leases writable buffers and takes them back when nothing refers to them any more.

    `leased_bytes` counts what is out, by capacity. `idle_bytes_max` bounds what is kept for reuse. The pool
    does not refuse: who must stay within a limit asks `leased_bytes` first and waits with `when_returned`.
    """

    def __init__(self, *, idle_bytes_max: int) -> None:
        self._idle_bytes_max = idle_bytes_max
        self._idle: dict[int, list[bytearray]] = {}
        self._idle_bytes = 0
        self._lease_types: dict[int, Any] = {}
        self._waiting: deque[Callable[[], None]] = deque()
        # Leases may end in a storage thread; re-entrant, since one may end while another begins.
        self._lock = threading.RLock()
        self.leased_bytes = 0

    @property
    def idle_bytes(self) -> int:
        return self._idle_bytes

    def lease(self, byte_length: int) -> memoryview:
        """A writable view of exactly `byte_length` bytes, with whatever its last user left in them."""
        capacity = size_class(byte_length)
        with self._lock:
            idle = self._idle.get(capacity)
            if idle:
                slab = idle.pop()
                self._idle_bytes -= capacity
            else:
                slab = bytearray(capacity)
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

            # Views keep the ctypes array alive, not the bytearray, which makes its end the end of the lease.
            lease_type = type("Lease", (ctypes.c_char * capacity,), {"__del__": end_of_lease})
            self._lease_types[capacity] = lease_type
        return lease_type

    def _take_back(self, slab: bytearray) -> None:
        capacity = len(slab)
        with self._lock:
            self.leased_bytes -= capacity
            if self._idle_bytes + capacity <= self._idle_bytes_max:
                self._idle.setdefault(capacity, []).append(slab)
                self._idle_bytes += capacity
        self.wake_next()

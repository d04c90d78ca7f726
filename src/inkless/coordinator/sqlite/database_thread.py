"""A thread that owns a connection and carries out waiting calls in groups.

While one group runs, calls pile up; the thread then takes them all at once. For the writer that is the group
commit: one transaction, one sync, many callers. Answers go back to the event loop once per group.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from inkless.errors import Unavailable

log = logging.getLogger(__name__)

_Work = TypeVar("_Work")


@dataclass(slots=True, eq=False)
class _Call(Generic[_Work]):
    work: _Work
    future: asyncio.Future[Any]
    outcome: Any = None


class DatabaseThread(Generic[_Work]):
    """Carries out work in the order of the calls.

    `execute` gets a group of work and gives one outcome for each, an exception where it failed. It is called
    in the thread, and so is `close_connection`, once, at the end.
    """

    def __init__(
        self,
        name: str,
        execute: Callable[[Sequence[_Work]], Sequence[Any]],
        close_connection: Callable[[], None],
        *,
        call_timeout_ms: int,
        calls_waiting_max: int,
        group_calls_max: int,
    ) -> None:
        self._name = name
        self._execute = execute
        self._close_connection = close_connection
        self._call_timeout_ms = call_timeout_ms
        self._calls_waiting_max = calls_waiting_max
        self._group_calls_max = group_calls_max
        self._calls_waiting = 0
        self._calls: queue.SimpleQueue[_Call[_Work] | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        self._closing = False
        # A daemon: a database that hangs in the kernel must not keep the process from ending.
        threading.Thread(target=self._run, name=name, daemon=True).start()

    async def call(self, work: _Work) -> Any:
        """The outcome of the work. Unavailable when too many calls wait, or the answer takes too long; then
        the work may still be carried out."""
        if self._closing:
            raise Unavailable(f"{self._name} is closed")
        if self._calls_waiting >= self._calls_waiting_max:
            raise Unavailable(f"{self._name}: {self._calls_waiting} calls are waiting already")
        call = _Call(work, self._loop.create_future())
        self._calls_waiting += 1
        self._calls.put(call)
        try:
            async with asyncio.timeout(self._call_timeout_ms / 1000):
                return await call.future
        except TimeoutError as error:
            raise Unavailable(f"{self._name}: no answer within {self._call_timeout_ms} ms") from error

    async def close(self) -> None:
        """Carries out what waits, then closes the connection; a thread that does not come back is left."""
        if not self._closing:
            self._closing = True
            self._calls.put(None)
        done, _ = await asyncio.wait([self._ended], timeout=self._call_timeout_ms / 1000)
        if not done:
            log.error("%s did not end within %d ms", self._name, self._call_timeout_ms)

    def _run(self) -> None:
        while (group := self._next_group()) is not None:
            if living := [call for call in group if not call.future.cancelled()]:
                self._execute_group(living)
            self._in_loop(self._deliver, group)
        try:
            self._close_connection()
        finally:
            self._in_loop(self._ended.set_result, None)

    def _next_group(self) -> list[_Call[_Work]] | None:
        """At least one call, and those that wait behind it; None when the end is reached."""
        call = self._calls.get()
        if call is None:
            return None
        group = [call]
        while len(group) < self._group_calls_max:
            try:
                call = self._calls.get_nowait()
            except queue.Empty:
                break
            if call is None:
                self._calls.put(None)
                break
            group.append(call)
        return group

    def _execute_group(self, group: Sequence[_Call[_Work]]) -> None:
        try:
            outcomes = self._execute([call.work for call in group])
        except Exception as error:  # noqa: BLE001 the thread must outlive any bug; the callers get the error
            outcomes = [error] * len(group)
        for call, outcome in zip(group, outcomes, strict=True):
            call.outcome = outcome

    def _deliver(self, group: Sequence[_Call[_Work]]) -> None:
        self._calls_waiting -= len(group)
        for call in group:
            if call.future.done():
                continue
            if isinstance(call.outcome, Exception):
                call.future.set_exception(call.outcome)
            else:
                call.future.set_result(call.outcome)

    def _in_loop(self, callback: Callable[..., object], argument: object) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, argument)
        except RuntimeError:
            log.warning("%s: the event loop ended before its answer", self._name)

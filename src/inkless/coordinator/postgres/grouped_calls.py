"""Calls that wait are carried out together: group commit, in the order of the calls.

A transaction costs its round trips and one sync, whether it serves one caller or a hundred. While one runs,
calls gather for the next; nobody waits on purpose.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from inkless.clock import TaskOwner
from inkless.coordinator.postgres.settings import PostgresSettings
from inkless.errors import Unavailable

_Work = TypeVar("_Work")


@dataclass(slots=True)
class _Call(Generic[_Work]):
    work: _Work
    future: "asyncio.Future[Any]"


class GroupedCalls(Generic[_Work]):
    """`execute` gets the works of a group and gives one answer or one error for each."""

    def __init__(
        self,
        name: str,
        execute: Callable[[Sequence[_Work]], Awaitable[Sequence[Any]]],
        settings: PostgresSettings,
    ) -> None:
        self._name = name
        self._execute = execute
        self._settings = settings
        self._waiting: deque[_Call[_Work]] = deque()
        self._group: list[_Call[_Work]] = []
        # One runs; the one before it may not have been taken off yet.
        self._runner = TaskOwner(name, tasks_max=2)
        self._running = False
        self._closing = False

    async def call(self, work: _Work) -> Any:
        """The answer to the work; raises what it raised, or Unavailable when it takes too long; then the work
        may still be carried out."""
        if self._closing:
            raise Unavailable(f"{self._name}: closed")
        if len(self._waiting) >= self._settings.calls_waiting_max:
            raise Unavailable(f"{self._name}: {len(self._waiting)} calls are waiting already")
        call = _Call(work, asyncio.get_running_loop().create_future())
        self._waiting.append(call)
        if not self._running:
            self._running = True
            self._runner.spawn(self._run())
        try:
            async with asyncio.timeout(self._settings.call_timeout_ms / 1000):
                return await call.future
        except TimeoutError as error:
            raise Unavailable(f"{self._name}: no answer in {self._settings.call_timeout_ms} ms") from error

    async def close(self) -> None:
        """Finishes what was begun and carries out what waits."""
        self._closing = True
        unanswered = [call.future for call in (*self._group, *self._waiting) if not call.future.done()]
        if unanswered:
            await asyncio.wait(unanswered, timeout=self._settings.call_timeout_ms / 1000)
        await self._runner.close()

    async def _run(self) -> None:
        try:
            while self._waiting:
                self._group = self._next_group()
                if self._group:
                    outcomes = await self._outcomes([call.work for call in self._group])
                    self._deliver(self._group, outcomes)
        finally:
            self._running = False
            # Only when this task is cancelled is anybody left.
            for call in (*self._group, *self._waiting):
                if not call.future.done():
                    call.future.set_exception(Unavailable(f"{self._name}: closed"))
            self._waiting.clear()
            self._group = []

    def _next_group(self) -> list[_Call[_Work]]:
        count = min(len(self._waiting), self._settings.group_calls_max)
        group = [self._waiting.popleft() for _ in range(count)]
        # Whoever gave up waiting is passed over.
        return [call for call in group if not call.future.done()]

    async def _outcomes(self, works: Sequence[_Work]) -> Sequence[Any]:
        try:
            return await self._execute(works)
        except Exception as error:  # noqa: BLE001 the runner must outlive any bug; the callers get the error
            return [error] * len(works)

    def _deliver(self, group: Sequence[_Call[_Work]], outcomes: Sequence[Any]) -> None:
        for call, outcome in zip(group, outcomes, strict=True):
            if call.future.done():
                continue
            if isinstance(outcome, Exception):
                call.future.set_exception(outcome)
            else:
                call.future.set_result(outcome)

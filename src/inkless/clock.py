"""Time, randomness, ids and task creation: the only module that may touch them.

Everything else is handed a `Clock` and an `Entropy`, which is what lets tests turn time by hand and a
simulation replay a run from its seed.
"""

import asyncio
import logging
import random
import time
import uuid
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

log = logging.getLogger(__name__)


class Clock(Protocol):
    """Wall time for what is stored, monotonic time for what is measured."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Entropy(Protocol):
    """Where ids and jitter come from."""

    def new_id(self) -> bytes:
        """16 random bytes in the form of a version 4 UUID; never all zero."""
        ...

    def uniform(self) -> float:
        """A float in [0, 1)."""
        ...


class SystemEntropy:
    """The machine's own randomness."""

    def __init__(self) -> None:
        self._random = random.Random()

    def new_id(self) -> bytes:
        return uuid.uuid4().bytes

    def uniform(self) -> float:
        return self._random.random()


class TaskOwner:
    """Owns background tasks: keeps them alive, reports how they died, ends them all at close.

    `tasks_max` bounds what one owner may have running; `spawn` beyond it raises.
    """

    def __init__(self, name: str, *, tasks_max: int = 100_000) -> None:
        self._name = name
        self._tasks_max = tasks_max
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def spawn(
        self,
        coroutine: Coroutine[Any, Any, Any],
        *,
        on_done: Callable[[asyncio.Task[Any]], None] | None = None,
    ) -> asyncio.Task[Any]:
        if len(self._tasks) >= self._tasks_max:
            coroutine.close()
            raise RuntimeError(f"{self._name}: more than {self._tasks_max} tasks")
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        if on_done is not None:
            task.add_done_callback(on_done)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("task of %s failed", self._name, exc_info=error)

    async def close(self) -> None:
        """Cancels what still runs and waits until it is gone."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

"""Commits uploaded objects in rotation order, as many at once as are ready.

One call is under way at a time: what becomes ready meanwhile goes into the next one, so the coordinator sees
fewer and larger commits the busier the broker is.
"""

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from inkless.clock import Clock, TaskOwner
from inkless.coordinator.contract import BatchCoordinator
from inkless.coordinator.types import RunResult
from inkless.errors import Unavailable
from inkless.produce.seal import SealedObject

_OBJECTS_PER_CALL_MAX = 64
_RETRY_DELAYS_S = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)

log = logging.getLogger(__name__)


class OnFailed(Protocol):
    """Told of an object that was not uploaded, or whose commit has no known outcome."""

    def __call__(self, sealed: SealedObject, *, uploaded: bool) -> None: ...


class CommitQueue:
    """Keeps rotation order between the end of uploads and the commits.

    Whatever fails takes everything behind it along: a producer's later batches must not be committed while it
    still has to send the earlier ones again. The coordinator cannot see to that by itself, since it lets a
    producer that it does not know begin with any sequence number (KIP-360).
    """

    def __init__(
        self,
        coordinator: BatchCoordinator,
        *,
        clock: Clock,
        deadline_ms: int,
        on_committed: Callable[[SealedObject, Sequence[RunResult]], None],
        on_failed: OnFailed,
        on_break: Callable[[], None],
    ) -> None:
        """`on_break` is called behind the failures, to fail what is not even in the queue yet."""
        self._coordinator = coordinator
        self._clock = clock
        self._deadline_s = deadline_ms / 1000
        self._on_committed = on_committed
        self._on_failed = on_failed
        self._on_break = on_break
        self._uploads: deque[tuple[SealedObject, asyncio.Future[bool]]] = deque()
        self._draining = False
        self._tasks = TaskOwner("commit queue", tasks_max=2)

    def enqueue(self, sealed: SealedObject, uploaded: asyncio.Future[bool]) -> None:
        """Call in rotation order. `uploaded` gives False when the upload failed for good."""
        self._uploads.append((sealed, uploaded))
        if not self._draining:
            self._draining = True
            self._tasks.spawn(self._drain())

    async def close(self) -> None:
        await self._tasks.close()

    async def _drain(self) -> None:
        while self._uploads:
            await asyncio.wait([self._uploads[0][1]])
            ready: list[SealedObject] = []
            while self._uploads and len(ready) < _OBJECTS_PER_CALL_MAX:
                sealed, uploaded = self._uploads[0]
                if not uploaded.done() or not uploaded.result():
                    break
                ready.append(sealed)
                self._uploads.popleft()
            committed = await self._commit(ready) if ready else True
            if not committed or (self._uploads and self._has_failed(self._uploads[0][1])):
                self._give_up_all()
        # Set here and not when the task is reaped: what is enqueued in between would wait for ever.
        self._draining = False

    @staticmethod
    def _has_failed(uploaded: asyncio.Future[bool]) -> bool:
        return uploaded.done() and not uploaded.result()

    def _give_up_all(self) -> None:
        while self._uploads:
            sealed, _ = self._uploads.popleft()
            self._on_failed(sealed, uploaded=False)
        self._on_break()

    async def _commit(self, ready: list[SealedObject]) -> bool:
        results = await self._commit_until_answered(ready)
        if results is None:
            for sealed in ready:
                self._on_failed(sealed, uploaded=True)
            return False
        for sealed, run_results in zip(ready, results, strict=True):
            try:
                self._on_committed(sealed, run_results)
            except Exception:
                # One object's trouble must not stop the commits of all that follow it.
                log.exception("committed object not settled", extra={"key": sealed.commit.key})
        return True

    async def _commit_until_answered(self, ready: list[SealedObject]) -> list[list[RunResult]] | None:
        """Repeats the very same call after a failure: a commit is idempotent by object id."""
        commits = [sealed.commit for sealed in ready]
        give_up_at = self._clock.monotonic() + self._deadline_s
        delays_s = itertools.chain(_RETRY_DELAYS_S, itertools.repeat(_RETRY_DELAYS_S[-1]))
        while (left_s := give_up_at - self._clock.monotonic()) > 0:
            try:
                async with asyncio.timeout(left_s):
                    return await self._coordinator.commit_objects(commits)
            except (Unavailable, TimeoutError) as error:
                log.warning("commit did not succeed, trying again", extra={"error": str(error)})
                await self._clock.sleep(min(next(delays_s), left_s))
            except Exception:
                # A defect of the backend must not leave producers waiting for ever.
                log.exception("commit failed")
                return None
        return None

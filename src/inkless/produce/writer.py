"""Sequences the produce path: append, rotate, seal, upload, commit, settle."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from inkless.buffers import BufferPool
from inkless.clock import Clock, Entropy, TaskOwner
from inkless.coordinator.contract import BatchCoordinator
from inkless.coordinator.types import ObjectCommit, ObjectId, RunResult
from inkless.errors import Unavailable
from inkless.observability import Histogram
from inkless.produce.active_object import ActiveObject
from inkless.produce.append import Append
from inkless.produce.commit import CommitQueue
from inkless.produce.rotation import PutAllowance, Situation, due_in_s
from inkless.produce.seal import SealedObject, seal
from inkless.protocol.error_codes import ErrorCode
from inkless.settings import ProduceSettings
from inkless.storage.contract import ObjectStore

log = logging.getLogger(__name__)

_UPLOAD_S_WEIGHT = 0.2
"""Of the newest upload in the moving average of what they take."""

# All three make a client look for a leader and try again.
_UPLOAD_FAILED = ErrorCode.KAFKA_STORAGE_ERROR
_COMMIT_UNKNOWN = ErrorCode.REQUEST_TIMED_OUT
_STOPPING = ErrorCode.NOT_LEADER_OR_FOLLOWER


class CommitListener(Protocol):
    """Told of every commit of this broker, before its producers are."""

    def object_committed(
        self, commit: ObjectCommit, content: memoryview, results: Sequence[RunResult]
    ) -> None:
        """`content` is the listener's from now on: durable, and read by nobody else any more."""
        ...


@dataclass(slots=True)
class WriterCounters:
    """Totals since the start, read by the metrics."""

    objects: int = 0
    object_bytes: int = 0
    batches: int = 0
    upload_failures: int = 0
    commit_failures: int = 0
    refused_batches: int = 0


class Writer:
    """Takes appends of any partition and settles each when it is durable and ordered, or has failed.

    Bounded: `saturated` is true while buffered and uploading bytes exceed the budget; callers then stop
    reading from their clients until `when_drained` calls back.
    """

    def __init__(
        self,
        settings: ProduceSettings,
        *,
        broker_id: int,
        store: ObjectStore,
        coordinator: BatchCoordinator,
        listener: CommitListener,
        pool: BufferPool,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self._settings = settings
        self._broker_id = broker_id
        self._store = store
        self._listener = listener
        self._pool = pool
        self._clock = clock
        self._entropy = entropy
        self._allowance = PutAllowance(settings.put_rate_max)
        self._active = ActiveObject()
        self._timer: asyncio.TimerHandle | None = None
        self._uploads = TaskOwner("uploads")
        self._upload_s = 0.0
        self._answered_at = 0.0
        self._upload_slots = asyncio.Semaphore(settings.uploads_max)
        self._commits = CommitQueue(
            coordinator,
            clock=clock,
            deadline_ms=settings.commit_deadline_ms,
            on_committed=self._committed,
            on_failed=self._failed,
            on_break=self._give_up_active,
        )
        self._unsettled_bytes = 0
        self._unsettled_objects = 0
        self._drained: deque[Callable[[], None]] = deque()
        self._settled = asyncio.Event()
        self._stopping = False
        self.counters = WriterCounters()
        self.object_age_s = Histogram()

    @property
    def saturated(self) -> bool:
        return self._unsettled_bytes >= self._settings.memory_bytes_max

    @property
    def unsettled_bytes(self) -> int:
        return self._unsettled_bytes

    def when_drained(self, callback: Callable[[], None]) -> None:
        """Calls back once, when the writer is no longer saturated."""
        self._drained.append(callback)

    def append(self, append: Append) -> None:
        """Takes the batches in order of call; the ticket is settled later, never from within this call
        unless the writer is stopping."""
        if self._stopping:
            append.ticket.settle(append.place, _STOPPING)
            return
        settings = self._settings
        active = self._active
        byte_length = len(append.content)
        if active and (
            active.byte_length + byte_length > settings.buffer_bytes_max
            or active.batch_count >= settings.batches_per_object_max
        ):
            self._rotate()
            active = self._active
        active.add(append, self._clock.monotonic())
        self._unsettled_bytes += byte_length
        if active.byte_length >= settings.buffer_bytes_max:
            self._rotate()
        elif self._timer is None:
            self._arm(min(settings.settle_ms, settings.linger_ms, settings.commit_interval_ms) / 1000)

    async def flush(self) -> None:
        """Returns when everything taken until now, and meanwhile, is settled."""
        while self._active or self._unsettled_objects:
            if self._active:
                self._rotate()
            self._settled.clear()
            await self._settled.wait()

    async def stop(self) -> None:
        """Takes nothing more and settles all that was taken."""
        self._stopping = True
        await self.flush()
        await self._uploads.close()
        await self._commits.close()

    def _arm(self, delay_s: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(delay_s, self._rotate_if_due)

    def _rotate_if_due(self, *, upload_ended: bool = False) -> None:
        """Run by the timer and at the end of uploads. Appends do not move the timer: it looks again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        active = self._active
        if not active:
            return
        now = self._clock.monotonic()
        allowed_in_s = self._allowance.wait_s(now)
        puts_plentiful = self._allowance.is_plentiful
        due_s = due_in_s(
            self._settings,
            Situation(
                now=now,
                first_append_at=active.first_append_at,
                last_append_at=active.last_append_at,
                uploads_running=len(self._uploads),
                objects_unsettled=self._unsettled_objects,
                answered_at=self._answered_at,
                upload_s=self._upload_s,
                puts_plentiful=puts_plentiful,
            ),
        )
        if upload_ended and puts_plentiful and not self._uploads:
            due_s = 0.0
        wait_s = max(due_s, allowed_in_s)
        if wait_s > 0.0001:
            self._arm(wait_s)
            return
        self._allowance.take()
        self._rotate()

    def _rotate(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        object_id = ObjectId(self._entropy.new_id())
        sealed = seal(self._active, object_id=object_id, broker_id=self._broker_id, pool=self._pool)
        self._active = ActiveObject()
        self._unsettled_objects += 1
        self.counters.objects += 1
        self.counters.object_bytes += sealed.commit.byte_length
        uploaded: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._uploads.spawn(self._upload(sealed, uploaded), on_done=self._upload_ended)
        self._commits.enqueue(sealed, uploaded)

    async def _upload(self, sealed: SealedObject, uploaded: asyncio.Future[bool]) -> None:
        try:
            async with asyncio.timeout(self._settings.upload_deadline_ms / 1000), self._upload_slots:
                began_at = self._clock.monotonic()
                await self._store.put(sealed.commit.key, [sealed.content])
                self._upload_s += (self._clock.monotonic() - began_at - self._upload_s) * _UPLOAD_S_WEIGHT
        except (Unavailable, TimeoutError) as error:
            log.warning("upload failed", extra={"key": sealed.commit.key, "error": str(error)})
            self.counters.upload_failures += 1
            uploaded.set_result(False)
        except BaseException:
            self.counters.upload_failures += 1
            uploaded.set_result(False)
            raise
        else:
            uploaded.set_result(True)

    def _upload_ended(self, _: asyncio.Task[None]) -> None:
        self._rotate_if_due(upload_ended=True)

    def _committed(self, sealed: SealedObject, results: Sequence[RunResult]) -> None:
        try:
            self._listener.object_committed(sealed.commit, sealed.content, results)
        finally:
            # Whatever befalls the listener, the data is committed and its producers are to be told.
            for appends, result in zip(sealed.appends, results, strict=True):
                self.counters.batches += len(result.base_offsets)
                self.counters.refused_batches += len(result.errors)
                _settle_run(appends, result)
            self._object_settled(sealed)

    def _failed(self, sealed: SealedObject, *, uploaded: bool) -> None:
        if uploaded:
            self.counters.commit_failures += 1
            log.warning("commit has no known outcome", extra={"key": sealed.commit.key})
        error = _COMMIT_UNKNOWN if uploaded else _UPLOAD_FAILED
        for appends in sealed.appends:
            for append in appends:
                append.ticket.settle(append.place, error)
        self._object_settled(sealed)

    def _give_up_active(self) -> None:
        """What was taken behind a failure and before anybody was told of it."""
        active, self._active = self._active, ActiveObject()
        self._unsettled_bytes -= active.byte_length
        for appends in active.appends.values():
            for append in appends:
                append.ticket.settle(append.place, _UPLOAD_FAILED)
        self._tell_drained()

    def _object_settled(self, sealed: SealedObject) -> None:
        self._answered_at = self._clock.monotonic()
        self.object_age_s.observe(self._answered_at - sealed.first_append_at)
        self._unsettled_bytes -= sealed.commit.byte_length
        self._unsettled_objects -= 1
        if not self._unsettled_objects:
            self._settled.set()
        self._tell_drained()
        self._rotate_if_due()

    def _tell_drained(self) -> None:
        while self._drained and not self.saturated:
            self._drained.popleft()()


def _settle_run(appends: Sequence[Append], result: RunResult) -> None:
    """An append of several batches is told its first offset or, if any was refused, the first error."""
    index = 0
    base_offsets, errors, log_start_offset = result.base_offsets, result.errors, result.log_start_offset
    for append in appends:
        end = index + len(append.facts)
        refused = next((errors[i] for i in range(index, end) if i in errors), None) if errors else None
        if refused is None:
            append.ticket.settle(append.place, ErrorCode.NONE, base_offsets[index], log_start_offset)
        else:
            append.ticket.settle(append.place, refused, -1, log_start_offset)
        index = end

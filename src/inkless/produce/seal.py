"""Closes an active object: one contiguous buffer, one run per partition, ready to be put and committed."""

from dataclasses import dataclass

from inkless.buffers import BufferPool
from inkless.coordinator.types import BatchFacts, ObjectCommit, ObjectId, RunCommit
from inkless.produce.active_object import ActiveObject
from inkless.produce.append import Append
from inkless.storage.keys import wal_key

# Tiny batches are joined by one call; for larger ones the join's own fresh memory costs more than it saves.
_JOINED_BATCH_BYTES_MAX = 4096


@dataclass(frozen=True, slots=True)
class SealedObject:
    """The bytes of a WAL object, the commit that will make them readable, and who waits for it."""

    commit: ObjectCommit
    content: memoryview
    appends: list[list[Append]]
    """Per run, in the order of `commit.runs`."""
    first_append_at: float


def seal(active: ActiveObject, *, object_id: ObjectId, broker_id: int, pool: BufferPool) -> SealedObject:
    """Runs are sorted by partition, so that a reader's bytes lie together and find stays one row."""
    content = pool.lease(active.byte_length)
    runs: list[RunCommit] = []
    appends_by_run: list[list[Append]] = []
    position = 0
    for partition, appends in sorted(active.appends.items()):
        facts: list[BatchFacts] = []
        for append in appends:
            facts += append.facts
        end = position + sum([len(append.content) for append in appends])
        _gather(appends, content[position:end], batch_count=len(facts))
        runs.append(RunCommit(partition, position, facts))
        position = end
        appends_by_run.append(appends)
    commit = ObjectCommit(
        object_id=object_id,
        key=wal_key(object_id),
        byte_length=active.byte_length,
        broker_id=broker_id,
        runs=runs,
    )
    return SealedObject(commit, content, appends_by_run, active.first_append_at)


def _gather(appends: list[Append], target: memoryview, *, batch_count: int) -> None:
    if len(target) < batch_count * _JOINED_BATCH_BYTES_MAX:
        target[:] = b"".join([append.content for append in appends])
        return
    position = 0
    for append in appends:
        end = position + len(append.content)
        target[position:end] = append.content
        position = end

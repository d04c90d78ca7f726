"""From the rows of runs to what a find returns, within its budget; no database.

Partitions are served in the order of the request, each up to its own bytes, until the total is used up, as
Kafka does it; a client rotates the order of its partitions, so none starves.
"""

from dataclasses import dataclass
from typing import NamedTuple

from inkless.coordinator.batch_index import BatchSpan, cut_run
from inkless.coordinator.types import Coordinates, ObjectId


class FoundRun(NamedTuple):
    """The row of a run together with its object."""

    base_offset: int
    last_offset: int
    byte_start: int
    byte_length: int
    batch_index: bytes | None
    object_id: ObjectId
    key: str
    object_byte_length: int
    committed_ms: int
    offsets_in_bytes: bool


@dataclass(slots=True)
class FindBudget:
    """What is left of a find's total; the first batch of all is returned however large it is."""

    bytes_left: int
    any_found: bool = False


@dataclass(slots=True)
class PartitionBudget:
    """What is left of one partition's share, and where it stands."""

    next_offset: int
    bytes_left: int
    full: bool = False


def take_from_run(run: FoundRun, share: PartitionBudget, total: FindBudget) -> Coordinates | None:
    """As many whole batches of the run as the budgets allow, from the share's offset on."""
    room = max(0, min(share.bytes_left, total.bytes_left))
    span = _cut(run, share.next_offset, room)
    size = span.byte_end - span.byte_start
    run_size = run.byte_length - span.byte_start
    if size > room and total.any_found:
        share.full = True
        return None
    total.any_found = True
    total.bytes_left -= size
    share.bytes_left -= size
    share.next_offset = run.base_offset + span.offset_end
    share.full = size < run_size
    return _coordinates(run, span)


def _cut(run: FoundRun, offset: int, room: int) -> BatchSpan:
    if run.batch_index is None:
        return BatchSpan(0, run.byte_length, 0, run.last_offset + 1 - run.base_offset)
    return cut_run(run.batch_index, from_offset=max(0, offset - run.base_offset), bytes_max=room)


def whole_run(run: FoundRun) -> Coordinates:
    return _coordinates(run, BatchSpan(0, run.byte_length, 0, run.last_offset + 1 - run.base_offset))


def _coordinates(run: FoundRun, span: BatchSpan) -> Coordinates:
    return Coordinates(
        object_id=run.object_id,
        key=run.key,
        object_byte_length=run.object_byte_length,
        committed_ms=run.committed_ms,
        run_byte_start=run.byte_start,
        run_byte_end=run.byte_start + run.byte_length,
        run_base_offset=run.base_offset,
        byte_start=run.byte_start + span.byte_start,
        byte_end=run.byte_start + span.byte_end,
        base_offset=run.base_offset + span.offset_start,
        end_offset=run.base_offset + span.offset_end,
        offsets_in_bytes=run.offsets_in_bytes,
    )

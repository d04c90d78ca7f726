"""Puts offsets into cached runs.

A WAL object is written before its offsets are known, so the stored bytes do not carry them. A cached copy
may: it is stamped once, and from then on every response is a view of it.
"""

import struct
from collections.abc import Sequence

from crc32c import crc32c

from inkless.coordinator.types import Coordinates, RunCommit, RunResult
from inkless.errors import CorruptData
from inkless.fetch.cache import CachedObject
from inkless.records.header import ATTRIBUTES_AT, LEADER_EPOCH_AT, iter_headers

_BASE_OFFSET = struct.Struct(">q")
_LEADER_EPOCH = struct.Struct(">i")


def stamp_committed(
    content: memoryview, runs: Sequence[RunCommit], results: Sequence[RunResult]
) -> CachedObject:
    """What this broker has just written and committed; its batches were checked when they were accepted."""
    entry = CachedObject(content)
    for run, result in zip(runs, results, strict=True):
        if any(result.base_offsets[index] < 0 for index in result.duplicates):
            # Committed so long ago that the coordinator no longer knows where: to be looked up when read.
            continue
        position = run.byte_start
        for facts, base_offset in zip(run.batches, result.base_offsets, strict=True):
            _BASE_OFFSET.pack_into(content, position, base_offset)
            position += facts.byte_length
        entry.stamped_runs.add(run.byte_start)
        if result.errors or result.duplicates:
            entry.stamped_runs.update(_starts_after_skips(run, result))
    return entry


def _starts_after_skips(run: RunCommit, result: RunResult) -> list[int]:
    """A refused or repeated batch splits the run: what follows it has coordinates of its own."""
    starts = []
    position = run.byte_start
    for index, facts in enumerate(run.batches):
        position += facts.byte_length
        if index in result.errors or index in result.duplicates:
            starts.append(position)
    return starts


def stamp_run(run: memoryview, base_offset: int, where: Coordinates) -> None:
    """Checks every batch of a run that came from storage and gives it its offset.

    The CRC does not cover the leader epoch, so that is set too; it is always 0.
    """
    for position, header in iter_headers(run):
        if crc32c(run[position + ATTRIBUTES_AT : position + header.byte_length]) != header.crc:
            raise CorruptData(
                f"batch at offset {base_offset} of object {where.key}, run at byte {where.run_byte_start}, "
                "does not match its CRC-32C"
            )
        _BASE_OFFSET.pack_into(run, position, base_offset)
        _LEADER_EPOCH.pack_into(run, position + LEADER_EPOCH_AT, 0)
        base_offset += header.last_offset_delta + 1

"""Where the batches of a run lie: record counts and byte lengths, packed into the run's row.

With it a find answers with exact sub-ranges of a large run without reading the object. A run of one batch
needs none: its row says it all.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from inkless.coordinator.packed_integers import pack_integers, unpack_integers


class BatchSpan(NamedTuple):
    """Neighbouring batches of a run, as distances from the run's first byte and its first offset."""

    byte_start: int
    byte_end: int
    offset_start: int
    offset_end: int


def pack_batch_index(record_counts: Sequence[int], byte_lengths: Sequence[int]) -> bytes | None:
    """The index of a run; None for a run of one batch."""
    if len(record_counts) == 1:
        return None
    counts = pack_integers(record_counts)
    return len(counts).to_bytes(4, "little") + counts + pack_integers(byte_lengths)


def cut_run(index: bytes, *, from_offset: int, bytes_max: int) -> BatchSpan:
    """The batches from the one that holds `from_offset` on, whole, up to `bytes_max` but at least one."""
    counts_end = 4 + int.from_bytes(index[:4], "little")
    record_counts = unpack_integers(index[4:counts_end])
    byte_lengths = unpack_integers(index[counts_end:])
    offset_ends = list(accumulate(record_counts))
    byte_ends = list(accumulate(byte_lengths))
    first = bisect_right(offset_ends, from_offset)
    byte_start = byte_ends[first] - byte_lengths[first]
    last = max(first, bisect_right(byte_ends, byte_start + bytes_max, lo=first) - 1)
    return BatchSpan(
        byte_start, byte_ends[last], offset_ends[first] - record_counts[first], offset_ends[last]
    )

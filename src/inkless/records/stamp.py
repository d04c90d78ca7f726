"""Writes into batches what only the broker knows: offsets, leader epoch, the time of the append.

Offsets and epoch stand before the part that the CRC covers and cost nothing; the time of the append does not,
so it is the one change that signs the batch anew.
"""

import struct
from collections.abc import Sequence
from typing import Final

from crc32c import crc32c

from inkless.records.header import (
    ATTRIBUTES_AT,
    BASE_OFFSET_AT,
    CRC_AT,
    LEADER_EPOCH_AT,
    LOG_APPEND_TIME_BIT,
    MAX_TIMESTAMP_AT,
    iter_headers,
)

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_UINT32: Final = struct.Struct(">I")
_PLACE: Final = struct.Struct(">qii")
"""Base offset, batch length and leader epoch: everything before the magic."""


def stamp_offsets(run: memoryview, base_offset: int) -> int:
    """Gives the batches of a writable run dense offsets from `base_offset` on; returns the next free one."""
    for pos, header in iter_headers(run):
        _INT64.pack_into(run, pos + BASE_OFFSET_AT, base_offset)
        base_offset += header.last_offset_delta + 1
    return base_offset


def stamped_views(run: memoryview, base_offset: int, leader_epoch: int) -> Sequence[bytes | memoryview]:
    """The run as buffers with offsets and epoch in place; the run itself is neither changed nor copied.

    Each batch becomes sixteen fresh bytes and a view of the rest.
    """
    buffers: list[bytes | memoryview] = []
    for pos, header in iter_headers(run):
        buffers.append(_PLACE.pack(base_offset, header.batch_length, leader_epoch))
        buffers.append(run[pos + _PLACE.size : pos + header.byte_length])
        base_offset += header.last_offset_delta + 1
    return buffers


def set_leader_epoch(run: memoryview, leader_epoch: int) -> None:
    """Sets the partition leader epoch of every batch of a writable run."""
    for pos, _ in iter_headers(run):
        _INT32.pack_into(run, pos + LEADER_EPOCH_AT, leader_epoch)


def stamp_log_append_time(run: memoryview, now_ms: int) -> None:
    """Makes `now_ms` the timestamp of every record of a writable run, and signs its batches anew."""
    for pos, header in iter_headers(run):
        _INT16.pack_into(run, pos + ATTRIBUTES_AT, header.attributes | LOG_APPEND_TIME_BIT)
        _INT64.pack_into(run, pos + MAX_TIMESTAMP_AT, now_ms)
        crc = crc32c(run[pos + ATTRIBUTES_AT : pos + header.byte_length])
        _UINT32.pack_into(run, pos + CRC_AT, crc)

"""The fixed 61 bytes at the start of a record batch (magic 2), read without touching its records.

The CRC covers everything from `attributes` on. What stands before it (base offset, length, leader epoch,
magic) may therefore be rewritten by a broker without spoiling what the producer signed.
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from inkless.errors import CorruptData

HEADER_STRUCT: Final = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES: Final = HEADER_STRUCT.size

BASE_OFFSET_AT: Final = 0
BATCH_LENGTH_AT: Final = 8
LEADER_EPOCH_AT: Final = 12
MAGIC_AT: Final = 16
CRC_AT: Final = 17
ATTRIBUTES_AT: Final = 21
LAST_OFFSET_DELTA_AT: Final = 23
BASE_TIMESTAMP_AT: Final = 27
MAX_TIMESTAMP_AT: Final = 35
PRODUCER_ID_AT: Final = 43
PRODUCER_EPOCH_AT: Final = 51
BASE_SEQUENCE_AT: Final = 53
RECORD_COUNT_AT: Final = 57

LENGTH_PREFIX_BYTES: Final = 12
"""Base offset and length stand before the bytes that `batch_length` counts."""
BATCH_LENGTH_MIN: Final = HEADER_BYTES - LENGTH_PREFIX_BYTES

MAGIC_V2: Final = 2

COMPRESSION_MASK: Final = 0x07
LOG_APPEND_TIME_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40

NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_LEADER_EPOCH: Final = -1


class BatchHeader(NamedTuple):
    """The header's fields in the order of the wire; timestamps are in milliseconds."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def byte_length(self) -> int:
        """The whole batch, its first twelve bytes included."""
        return self.batch_length + LENGTH_PREFIX_BYTES

    @property
    def offset_count(self) -> int:
        """How many offsets the batch takes; more than `record_count` once compaction has thinned it."""
        return self.last_offset_delta + 1

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def codec_id(self) -> int:
        return self.attributes & COMPRESSION_MASK

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME_BIT)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)

    @property
    def has_delete_horizon(self) -> bool:
        """Set by compaction: the base timestamp then says when tombstones may go."""
        return bool(self.attributes & DELETE_HORIZON_BIT)


def read_header(view: memoryview, pos: int = 0) -> BatchHeader:
    """Reads the header at `pos` as it stands; only that its bytes are there is checked."""
    if len(view) - pos < HEADER_BYTES:
        raise CorruptData(f"a batch header needs {HEADER_BYTES} bytes, {max(len(view) - pos, 0)} are left")
    return BatchHeader(*HEADER_STRUCT.unpack_from(view, pos))


def iter_headers(run: memoryview) -> Iterator[tuple[int, BatchHeader]]:
    """Yields (position, header) of each batch of a run that was validated before it was stored.

    Raises CorruptData where the bytes do not form whole batches of magic 2.
    """
    pos = 0
    end = len(run)
    while pos < end:
        header = read_header(run, pos)
        if header.magic != MAGIC_V2:
            raise CorruptData(f"batch at byte {pos} of the run has magic {header.magic}, not {MAGIC_V2}")
        batch_end = pos + header.byte_length
        if header.batch_length < BATCH_LENGTH_MIN or batch_end > end:
            raise CorruptData(
                f"batch at byte {pos} claims {header.byte_length} bytes, {end - pos} are left of the run"
            )
        yield pos, header
        pos = batch_end

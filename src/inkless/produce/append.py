"""One partition's share of one Produce request, and how it learns what became of it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from inkless.coordinator.types import BatchFacts, PartitionId
from inkless.protocol.error_codes import ErrorCode

Buffer = bytes | bytearray | memoryview


class AppendTicket(Protocol):
    """Held by the writer until the append is settled, exactly once."""

    def settle(self, place: int, error: ErrorCode, base_offset: int = -1, log_start_offset: int = -1) -> None:
        """`place` tells the partitions of one request apart. Must not raise."""
        ...


class Append(NamedTuple):
    """Checked batches of one partition, one behind the other; they must not change until it is settled."""

    partition: PartitionId
    content: Buffer
    facts: Sequence[BatchFacts]
    ticket: AppendTicket
    place: int

"""One partition's share of one Produce request, and how it learns what became of it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from inkless.coordinator.types import BatchFacts, PartitionId
from inkless.protocol.error_codes import ErrorCode

Buffer = bytes | bytearray | memoryview


class AppendOutcome(NamedTuple):
    """What the client is told for one partition."""

    error: ErrorCode
    base_offset: int = -1
    log_start_offset: int = -1


class AppendTicket(Protocol):
    """Held by the writer until the append is settled, exactly once."""

    def settle(self, place: int, outcome: AppendOutcome) -> None:
        """`place` tells the partitions of one request apart. Must not raise."""
        ...


class Append(NamedTuple):
    """Checked batches of one partition. The buffers must not change until the append is settled."""

    partition: PartitionId
    batches: Sequence[Buffer]
    facts: Sequence[BatchFacts]
    byte_length: int
    ticket: AppendTicket
    place: int

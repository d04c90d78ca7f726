"""One record as clients and tools see it."""

from collections.abc import Sequence
from typing import NamedTuple

Headers = Sequence[tuple[str, bytes | None]]


class Record(NamedTuple):
    """A record at its place in the partition.

    `value` None is a tombstone. A header key that is not UTF-8 keeps its bytes as lone surrogates
    (`surrogateescape`), so that a strange producer cannot stop a consumer.
    """

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()

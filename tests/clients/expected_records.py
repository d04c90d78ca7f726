"""The records that every client writes and every client must read back, the same for all of them.

A topic of this suite has one partition per codec, in the order of `CODECS`, and each partition holds
`RECORDS` from offset 0 on. So one topic per writer shows everything that a reader must be able to read.
"""

from dataclasses import dataclass

CODECS: tuple[str, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
"""Their places are also the numbers that they have in a batch's attributes."""

_TIMESTAMP_MS = 1_700_000_000_000


@dataclass(frozen=True, slots=True)
class ExpectedRecord:
    """One record as a producer states it. None and empty are different things for key, value and header."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int = _TIMESTAMP_MS


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """One record as a consumer got it."""

    partition: int
    offset: int
    record: ExpectedRecord


RECORDS: tuple[ExpectedRecord, ...] = (
    ExpectedRecord(b"key", b"value", timestamp_ms=_TIMESTAMP_MS),
    ExpectedRecord(None, b"a value without a key", timestamp_ms=_TIMESTAMP_MS + 1),
    ExpectedRecord(b"deleted", None, timestamp_ms=_TIMESTAMP_MS + 2),
    ExpectedRecord(b"", b"", timestamp_ms=_TIMESTAMP_MS + 3),
    ExpectedRecord("schlüssel".encode(), "größe ≥ 1 🦑".encode(), timestamp_ms=_TIMESTAMP_MS + 4),
    ExpectedRecord(
        b"with headers",
        b"v",
        (("trace", b"4bf92f35"), ("trace", b"second of its name"), ("empty", b""), ("raw", b"\xfe\xff")),
        timestamp_ms=_TIMESTAMP_MS + 5,
    ),
    # Time does not always go forward in a batch.
    ExpectedRecord(
        b"earlier", bytes(range(256)), (("absent", None),), timestamp_ms=_TIMESTAMP_MS - 86_400_000
    ),
    ExpectedRecord(b"compresses well", b"na" * 20_000, timestamp_ms=_TIMESTAMP_MS + 7),
    ExpectedRecord(None, None, timestamp_ms=_TIMESTAMP_MS + 8),
)


def expected_in(codecs: tuple[str, ...], records: tuple[ExpectedRecord, ...] = RECORDS) -> list[ReadRecord]:
    """What is read back, by partition and offset, from a topic into which `records` went in these codecs."""
    return [
        ReadRecord(CODECS.index(codec), offset, record)
        for codec in sorted(codecs, key=CODECS.index)
        for offset, record in enumerate(records)
    ]


def with_key_or_value(records: tuple[ExpectedRecord, ...]) -> tuple[ExpectedRecord, ...]:
    """Those that have at least one of the two; several clients take no others."""
    return tuple(record for record in records if record.key is not None or record.value is not None)


def without_null_headers(records: tuple[ExpectedRecord, ...]) -> tuple[ExpectedRecord, ...]:
    """Those whose headers all have values; several clients cannot state others."""
    return tuple(record for record in records if all(value is not None for _, value in record.headers))

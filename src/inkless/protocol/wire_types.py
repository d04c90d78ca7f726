"""The vocabulary of the message tables: wire types, and from which version on a field exists.

A table line reads `name: Annotated[String | None, since(5)] = None`: the alias says the wire type, `| None`
that null can be sent, the markers in which versions, the default what a version without the field means.
Fields without markers exist in every version of their message. A tagged struct is None when it is not sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview
"""Bytes that are sent as they are. A memoryview must be one of single bytes, so that `len` is its size."""

VERSION_MAX = 32767


class WireType(Enum):
    """How a value lies on the wire; for the types of fixed size the value is their `struct` format."""

    BOOL = "?"
    INT8 = "b"
    INT16 = "h"
    INT32 = "i"
    INT64 = "q"
    UUID = "16s"
    STRING = "string"
    BYTES = "bytes"
    RECORDS_VIEW = "records as one view"
    RECORDS_BUFFERS = "records as a list of buffers"
    STRUCT = "fields"

    @property
    def is_fixed(self) -> bool:
        return len(self.value) == 1 or self is WireType.UUID

    @property
    def is_integer(self) -> bool:
        return self.value in ("b", "h", "i", "q")

    @property
    def is_records(self) -> bool:
        return self in (WireType.RECORDS_VIEW, WireType.RECORDS_BUFFERS)


Bool = Annotated[bool, WireType.BOOL]
Int8 = Annotated[int, WireType.INT8]
Int16 = Annotated[int, WireType.INT16]
Int32 = Annotated[int, WireType.INT32]
Int64 = Annotated[int, WireType.INT64]
Uuid = Annotated[bytes, WireType.UUID]
String = Annotated[str, WireType.STRING]
Bytes = Annotated[bytes, WireType.BYTES]
RecordsView = Annotated[memoryview, WireType.RECORDS_VIEW]
"""Record batches in one piece: a view of the bytes that were decoded."""
RecordsBuffers = Annotated[Sequence[Buffer], WireType.RECORDS_BUFFERS]
"""Record batches in any number of pieces, which are sent one behind the other; decoded as one piece."""

NO_UUID = bytes(16)
INT32_MIN = -(2**31)
INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions, first and last included, in which a field is sent."""

    first: int
    last: int

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last


@dataclass(frozen=True, slots=True)
class NullableVersions:
    """The first version in which null is allowed; without this marker it is every one."""

    first: int


@dataclass(frozen=True, slots=True)
class Tag:
    """Sent behind the other fields, under this number, and only when it is not the default."""

    number: int


def since(first: int) -> Versions:
    """The field is sent from this version on."""
    return Versions(first, VERSION_MAX)


def until(last: int) -> Versions:
    """The field is sent up to this version."""
    return Versions(0, last)


def between(first: int, last: int) -> Versions:
    """The field is sent from the first to the last of these versions."""
    return Versions(first, last)


def nullable_since(first: int) -> NullableVersions:
    """Null is allowed from this version on."""
    return NullableVersions(first)


def tag(number: int) -> Tag:
    """The field is a tagged one."""
    return Tag(number)

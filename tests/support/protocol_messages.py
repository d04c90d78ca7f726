"""Hypothesis strategies derived from the message tables: every message of every API in every version."""

import os
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.registry import APIS, Api
from inkless.protocol.schema import FieldSchema, field_schemas
from inkless.protocol.wire_types import WireType

EXAMPLES = settings(
    max_examples=int(os.environ.get("INKLESS_PROTOCOL_EXAMPLES", "8")),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@dataclass(frozen=True)
class VersionedMessage:
    """A message class in one of its versions."""

    api: Api
    message_class: type[Any]
    version: int

    @property
    def is_request(self) -> bool:
        return self.message_class is self.api.request_class

    def __str__(self) -> str:
        return f"{self.message_class.__name__}-v{self.version}"


ALL = [
    VersionedMessage(api, message_class, version)
    for api in APIS.values()
    for message_class in (api.request_class, api.response_class)
    for version in range(api.versions.first, api.versions.last + 1)
]

# The length prefixes of 127 and 128 bytes are the first that differ in size.
TEXTS = st.text(max_size=8) | st.sampled_from(["k" * 126, "k" * 127, "ä" * 200])
BLOBS = st.binary(max_size=8) | st.sampled_from([bytes(126), bytes(127), bytes(20_000)])

# kio turns these into objects of `datetime`, which hold less than 64 bits.
NARROW = {
    "log_append_time_ms": st.just(-1) | st.integers(0, 10**12),
    "retention_time_ms": st.integers(-1, 10**12),
}

SCALARS: dict[WireType, st.SearchStrategy[Any]] = {
    WireType.BOOL: st.booleans(),
    WireType.INT8: st.integers(-(2**7), 2**7 - 1),
    WireType.INT16: st.integers(-(2**15), 2**15 - 1),
    WireType.INT32: st.integers(-(2**31), 2**31 - 1),
    WireType.INT64: st.integers(-(2**63), 2**63 - 1),
    WireType.UUID: st.just(bytes(16)) | st.binary(min_size=16, max_size=16),
    WireType.STRING: TEXTS,
    WireType.BYTES: BLOBS,
    WireType.RECORDS_VIEW: BLOBS.map(memoryview),
    WireType.RECORDS_BUFFERS: st.lists(BLOBS.filter(len), max_size=1),
}


@cache
def messages(struct_class: type[Any], version: int) -> st.SearchStrategy[Any]:
    """Instances with random values in the fields that the version has, defaults in the others."""
    return st.builds(
        struct_class,
        **{f.name: _values(f, version) for f in field_schemas(struct_class) if version in f.versions},
    )


def _values(field: FieldSchema, version: int) -> st.SearchStrategy[Any]:
    values = _elements(field, version)
    if field.is_array:
        # 17 is the first length without a precompiled struct.
        size_max = 17 if field.wire_type.is_integer else 2
        values = st.lists(values, max_size=size_max)
    elif field.tag is not None and field.struct_class is not None:
        # None is how our messages say what others say with a struct of defaults.
        default = field.struct_class()
        values = values.filter(lambda value: value != default)
    return st.none() | values if field.is_nullable(version) else values


def _elements(field: FieldSchema, version: int) -> st.SearchStrategy[Any]:
    if field.struct_class is not None:
        return messages(field.struct_class, version)
    if field.name.endswith("error_code"):
        return st.sampled_from(ErrorCode).map(int)
    return NARROW.get(field.name, SCALARS[field.wire_type])

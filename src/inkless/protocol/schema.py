"""Turns annotated classes into dataclasses with a schema that the compiler can read.

The tables under `messages` are the only source of the wire format. A class decorated with `struct`,
`request` or `response` is a slotted dataclass whose fields all have defaults, so that the same class serves
every version: a field that a version lacks keeps its default when decoding and is left out when encoding.
"""

import collections.abc
import types
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import (
    Annotated,
    Any,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.wire_types import VERSION_MAX, NullableVersions, Tag, Versions, WireType

Message = TypeVar("Message")
Marker = TypeVar("Marker")

ALL_VERSIONS = Versions(0, VERSION_MAX)
NEVER_FLEXIBLE = VERSION_MAX + 1


@dataclass(frozen=True, slots=True)
class FieldSchema:
    """One line of a table. Wire type and struct class are those of the elements if it is an array."""

    name: str
    wire_type: WireType
    struct_class: type[Any] | None
    is_array: bool
    versions: Versions
    nullable_from: int | None
    tag: int | None
    default: Any

    def is_nullable(self, version: int) -> bool:
        return self.nullable_from is not None and version >= self.nullable_from

    def without_null(self) -> "FieldSchema":
        return replace(self, nullable_from=None)


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """What makes a struct a message: its API, its versions, and which of them are flexible (KIP-482)."""

    api_key: ApiKey
    versions: Versions
    flexible_from: int

    def is_flexible(self, version: int) -> bool:
        return version >= self.flexible_from


@dataclass_transform()
def struct(cls: type[Message]) -> type[Message]:
    """A part of a message."""
    return _with_fields(cls)


@dataclass_transform()
def request(
    api_key: ApiKey, *, versions: tuple[int, int], flexible_from: int = NEVER_FLEXIBLE
) -> Callable[[type[Message]], type[Message]]:
    """The request of an API, in the versions from the first to the last."""
    return _message(MessageSchema(api_key, Versions(*versions), flexible_from))


@dataclass_transform()
def response(
    api_key: ApiKey, *, versions: tuple[int, int], flexible_from: int = NEVER_FLEXIBLE
) -> Callable[[type[Message]], type[Message]]:
    """The response of an API, in the versions from the first to the last."""
    return _message(MessageSchema(api_key, Versions(*versions), flexible_from))


def message_schema(message_class: type[Any]) -> MessageSchema:
    """API and versions of a request or response class."""
    return cast(MessageSchema, message_class.__message_schema__)


def is_message(struct_class: type[Any]) -> bool:
    """Whether the class is a whole request or response."""
    return hasattr(struct_class, "__message_schema__")


def field_schemas(struct_class: type[Any]) -> tuple[FieldSchema, ...]:
    """The lines of a table, in the order of the constructor's parameters."""
    return cast(tuple[FieldSchema, ...], struct_class.__field_schemas__)


def _message(schema: MessageSchema) -> Callable[[type[Message]], type[Message]]:
    def decorate(cls: type[Message]) -> type[Message]:
        made: Any = _with_fields(cls)
        made.__message_schema__ = schema
        return cast(type[Message], made)

    return decorate


def _with_fields(cls: type[Message]) -> type[Message]:
    hints = get_type_hints(cls, include_extras=True)
    defaults = {name: getattr(cls, name) for name in hints}
    for name, default in defaults.items():
        # A table says () for "no elements"; every message gets a list of its own.
        if default == () and isinstance(default, tuple):
            setattr(cls, name, field(default_factory=list))
    made: Any = dataclass(slots=True)(cls)
    made.__field_schemas__ = tuple(
        _field_schema(name, hints[name], defaults[name]) for name in (line.name for line in fields(made))
    )
    return cast(type[Message], made)


def _field_schema(name: str, hint: Any, default: Any) -> FieldSchema:
    hint, markers = _split_annotated(hint)
    hint, nullable = _split_optional(hint)
    hint, inner_markers = _split_annotated(hint)
    wire_type = _only(markers + inner_markers, WireType)
    is_array = wire_type is None and get_origin(hint) is collections.abc.Sequence
    if is_array:
        hint, inner_markers = _split_annotated(get_args(hint)[0])
        wire_type = _only(inner_markers, WireType)
    nullable_versions = _only(markers, NullableVersions)
    tag = _only(markers, Tag)
    return FieldSchema(
        name=name,
        wire_type=wire_type or WireType.STRUCT,
        struct_class=None if wire_type else hint,
        is_array=is_array,
        versions=_only(markers, Versions) or ALL_VERSIONS,
        nullable_from=(nullable_versions.first if nullable_versions else 0) if nullable else None,
        tag=tag.number if tag else None,
        default=default,
    )


def _split_annotated(hint: Any) -> tuple[Any, list[Any]]:
    if get_origin(hint) is Annotated:
        inner, *markers = get_args(hint)
        return inner, markers
    return hint, []


def _split_optional(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) in (Union, types.UnionType):
        (inner,) = (argument for argument in get_args(hint) if argument is not type(None))
        return inner, True
    return hint, False


def _only(markers: list[Any], kind: type[Marker]) -> Marker | None:
    return next((marker for marker in markers if isinstance(marker, kind)), None)

"""Writes, for one message class and version, the function that decodes it.

The function is straight-line code: neighbouring values of fixed size, together with the length prefix that
follows them, are read with one precompiled struct; strings, arrays and structs stand in line. Every length
is checked against the bytes that remain before anything is made of it. Whatever the bytes are, the function
returns a message or raises `MalformedBytes`.
"""

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from inkless.protocol.errors import MalformedBytes
from inkless.protocol.primitives import (
    SMALL_ARRAY_MAX,
    read_uvarint,
    skip_tags,
    small_array_unpackers,
    unpacker,
    uvarint_rest,
)
from inkless.protocol.schema import FieldSchema, field_schemas, message_schema
from inkless.protocol.source import FunctionSource
from inkless.protocol.wire_types import WireType

Decoder = Callable[[memoryview, int], tuple[Any, int]]

_VALUE_OF_SLICE = {
    WireType.STRING: "str(view[pos:{stop}], 'utf-8')",
    WireType.BYTES: "bytes(view[pos:{stop}])",
    WireType.RECORDS_VIEW: "view[pos:{stop}]",
    WireType.RECORDS_BUFFERS: "[view[pos:{stop}]] if {stop} > pos else []",
}


def compile_decoder(message_class: type[Any], version: int) -> Decoder:
    """The decoder of this version, which must be one that the message has."""
    flexible = message_schema(message_class).is_flexible(version)
    return _DecoderWriter(version, flexible=flexible).write(message_class)


class _DecoderWriter:
    """Each method writes the lines that read one kind of thing; `pos` is then behind it.

    Values of fixed size wait in `_run` until something of variable size, or the end of a block, makes
    `_flush` read them all at once.
    """

    def __init__(self, version: int, *, flexible: bool) -> None:
        self._version = version
        self._flexible = flexible
        self._source = FunctionSource("decode(view, pos)")
        self._run: list[tuple[str, str]] = []
        self._malformed = self._source.constant("MalformedBytes", MalformedBytes)

    def write(self, message_class: type[Any]) -> Decoder:
        source = self._source
        title = f"{message_class.__name__} v{self._version}"
        errors = source.constant("errors", (IndexError, struct.error, UnicodeDecodeError))
        source.line("end = len(view)")
        with source.block("try:"):
            message = self._struct(message_class)
            source.line(f"return {message}, pos")
        with source.block(f"except {errors} as error:"):
            source.line(f"raise {self._malformed}(f'{title}: {{error}}') from error")
        return source.compile("decode", f"decoder of {title}")

    def _struct(self, struct_class: type[Any]) -> str:
        """Gives the expression that makes the struct of the values read."""
        values: list[str] = []
        tagged: list[tuple[FieldSchema, str]] = []
        for field in field_schemas(struct_class):
            if self._version not in field.versions:
                values.append(self._source.literal(field.default))
                continue
            values.append(self._source.fresh(field.name))
            if field.tag is None:
                self._field(field, values[-1])
            else:
                tagged.append((field, values[-1]))
        if self._flexible:
            self._tagged_fields(tagged)
        self._flush()
        return f"{self._source.constant(struct_class.__name__, struct_class)}({', '.join(values)})"

    def _field(self, field: FieldSchema, value: str) -> None:
        nullable = field.is_nullable(self._version)
        if field.is_array:
            self._array(field, value, nullable=nullable)
        else:
            self._element(field, value, nullable=nullable)

    def _element(self, field: FieldSchema, value: str, *, nullable: bool) -> None:
        """A field that is no array, or one element of one that is."""
        if field.struct_class is not None:
            self._single_struct(field.struct_class, value, nullable=nullable)
        elif field.wire_type.is_fixed:
            self._run.append((field.wire_type.value, value))
        else:
            self._bytes(field, value, nullable=nullable)

    def _bytes(self, field: FieldSchema, value: str, *, nullable: bool) -> None:
        length = self._length(field.wire_type is WireType.STRING)
        stop = self._source.fresh("stop")
        with self._unless_null(length, value, nullable=nullable):
            self._source.line(f"{stop} = pos + {length}")
            self._demand(f"pos <= {stop} <= end", f"{field.name} has a bad length")
            self._source.line(f"{value} = {_VALUE_OF_SLICE[field.wire_type].format(stop=stop)}")
            self._source.line(f"pos = {stop}")

    def _array(self, field: FieldSchema, value: str, *, nullable: bool) -> None:
        count = self._length(is_string=False)
        with self._unless_null(count, value, nullable=nullable):
            size_min = element_size_min(field, self._version, flexible=self._flexible)
            self._demand(f"0 <= {count} <= (end - pos) // {size_min}", f"{field.name} has a bad length")
            if field.struct_class is None and field.wire_type.is_integer:
                self._integers(field.wire_type.value, count, value)
            else:
                self._elements(field, count, value)

    def _integers(self, element: str, count: str, value: str) -> None:
        small = self._source.constant("small_array", small_array_unpackers(element))
        large = self._source.constant("unpack_from", struct.unpack_from)
        with self._source.block(f"if {count} <= {SMALL_ARRAY_MAX}:"):
            self._source.line(f"{value} = list({small}[{count}](view, pos))")
        with self._source.block("else:"):
            self._source.line(f"{value} = list({large}(f'>{{{count}}}{element}', view, pos))")
        self._source.line(f"pos += {count} * {struct.calcsize('>' + element)}")

    def _elements(self, field: FieldSchema, count: str, value: str) -> None:
        self._source.line(f"{value} = []")
        with self._source.block(f"for _ in range({count}):"):
            if field.struct_class is not None:
                element = self._struct(field.struct_class)
            else:
                element = self._source.fresh("element")
                self._element(field, element, nullable=False)
                self._flush()
            self._source.line(f"{value}.append({element})")

    def _single_struct(self, struct_class: type[Any], value: str, *, nullable: bool) -> None:
        if not nullable:
            self._source.line(f"{value} = {self._struct(struct_class)}")
            return
        presence = self._source.fresh("presence")
        self._run.append(("b", presence))
        self._flush()
        self._source.line(f"{value} = None")
        with self._source.block(f"if {presence} >= 0:"):
            self._source.line(f"{value} = {self._struct(struct_class)}")

    def _tagged_fields(self, tagged: list[tuple[FieldSchema, str]]) -> None:
        source = self._source
        count = source.fresh("tag_count")
        self._run.append(("B", count))
        self._flush()
        for field, value in tagged:
            source.line(f"{value} = {source.literal(field.default)}")
        with source.block(f"if {count}:"):
            if not tagged:
                skip = source.constant("skip_tags", skip_tags)
                source.line(f"pos = {skip}(view, pos, {count})")
                return
            self._rest_of_uvarint(count)
            with source.block(f"for _ in range({count}):"):
                self._tagged_field(tagged)

    def _tagged_field(self, tagged: list[tuple[FieldSchema, str]]) -> None:
        source = self._source
        read = source.constant("read_uvarint", read_uvarint)
        number, size, stop = source.fresh("tag"), source.fresh("size"), source.fresh("stop")
        source.line(f"{number}, pos = {read}(view, pos)")
        source.line(f"{size}, pos = {read}(view, pos)")
        source.line(f"{stop} = pos + {size}")
        self._demand(f"{stop} <= end", "a tagged field reaches beyond the end")
        for field, value in tagged:
            with source.block(f"if {number} == {field.tag}:"):
                # What is not sent stands for "no such struct", so a tagged struct is never null on the wire.
                self._field(field.without_null() if field.struct_class else field, value)
                self._flush()
                self._demand(f"pos == {stop}", f"{field.name} is not as long as its tag says")
        source.line(f"pos = {stop}")

    def _length(self, is_string: bool) -> str:
        """Reads a length; the variable named has -1 for null."""
        length = self._source.fresh("length")
        if self._flexible:
            self._run.append(("B", length))
            self._flush()
            self._rest_of_uvarint(length)
            self._source.line(f"{length} -= 1")
        else:
            self._run.append(("h" if is_string else "i", length))
            self._flush()
        return length

    def _rest_of_uvarint(self, variable: str) -> None:
        with self._source.block(f"if {variable} > 127:"):
            rest = self._source.constant("uvarint_rest", uvarint_rest)
            self._source.line(f"{variable}, pos = {rest}(view, pos, {variable})")

    @contextmanager
    def _unless_null(self, length: str, value: str, *, nullable: bool) -> Iterator[None]:
        if not nullable:
            yield
            return
        with self._source.block(f"if {length} == -1:"):
            self._source.line(f"{value} = None")
        with self._source.block("else:"):
            yield

    def _demand(self, condition: str, complaint: str) -> None:
        with self._source.block(f"if not {condition}:"):
            self._source.line(f"raise {self._malformed}({complaint!r})")

    def _flush(self) -> None:
        if not self._run:
            return
        formats = "".join(form for form, _ in self._run)
        names = [name for _, name in self._run]
        self._run.clear()
        if formats == "B":
            self._source.line(f"{names[0]} = view[pos]")
        else:
            unpack = self._source.constant("unpack", unpacker(formats))
            self._source.line(f"{', '.join(names)}, = {unpack}(view, pos)")
        self._source.line(f"pos += {struct.calcsize('>' + formats)}")


def element_size_min(field: FieldSchema, version: int, *, flexible: bool) -> int:
    """How many bytes one element of an array takes at least: what makes an absurd count cheap to refuse."""
    if field.struct_class is not None:
        return max(1, _struct_size_min(field.struct_class, version, flexible=flexible))
    return _scalar_size_min(field.wire_type, flexible=flexible)


def _struct_size_min(struct_class: type[Any], version: int, *, flexible: bool) -> int:
    sent = (f for f in field_schemas(struct_class) if version in f.versions and f.tag is None)
    return int(flexible) + sum(_field_size_min(field, version, flexible=flexible) for field in sent)


def _field_size_min(field: FieldSchema, version: int, *, flexible: bool) -> int:
    if field.is_array:
        return 1 if flexible else 4
    if field.struct_class is None:
        return _scalar_size_min(field.wire_type, flexible=flexible)
    if field.is_nullable(version):
        return 1
    return _struct_size_min(field.struct_class, version, flexible=flexible)


def _scalar_size_min(wire_type: WireType, *, flexible: bool) -> int:
    if wire_type.is_fixed:
        return struct.calcsize(">" + wire_type.value)
    if flexible:
        return 1
    return 2 if wire_type is WireType.STRING else 4

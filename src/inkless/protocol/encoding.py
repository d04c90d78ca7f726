"""Writes, for one message class and version, the function that encodes it.

Like its counterpart the function is straight-line code that packs neighbouring values of fixed size at
once. It appends to a bytearray; in the chunked form record batches are not appended but stand as they are
in a list of buffers, between the bytearrays with what surrounds them. Values of fields that the version
lacks are left out.
"""

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from inkless.protocol.errors import UnencodableMessage
from inkless.protocol.primitives import SMALL_ARRAY_MAX, packer, small_array_packers, uvarint
from inkless.protocol.schema import FieldSchema, field_schemas, message_schema
from inkless.protocol.source import FunctionSource
from inkless.protocol.wire_types import Buffer, WireType

Encoder = Callable[[Any, bytearray], None]
ChunkedEncoder = Callable[[Any], list[Buffer]]


def compile_encoder(message_class: type[Any], version: int) -> Encoder:
    """The encoder of this version, which must be one that the message has."""
    flexible = message_schema(message_class).is_flexible(version)
    writer = _EncoderWriter("encode(message, out)", version, flexible=flexible, chunked=False)
    return writer.write(message_class)


def compile_chunked_encoder(message_class: type[Any], version: int) -> ChunkedEncoder:
    """The encoder of this version into a list of buffers, records by reference."""
    flexible = message_schema(message_class).is_flexible(version)
    writer = _EncoderWriter("encode(message)", version, flexible=flexible, chunked=True)
    return writer.write(message_class)


class _EncoderWriter:
    """Each method writes the lines that append one kind of thing to the bytearray called `_out`.

    Values of fixed size wait in `_run` until something of variable size, or the end of a block, makes
    `_flush` pack them all at once.
    """

    def __init__(self, signature: str, version: int, *, flexible: bool, chunked: bool) -> None:
        self._source = FunctionSource(signature)
        self._version = version
        self._flexible = flexible
        self._chunked = chunked
        self._out = "out"
        self._run: list[tuple[str, str]] = []
        self._uvarint = self._source.constant("uvarint", uvarint)

    def write(self, message_class: type[Any]) -> Callable[..., Any]:
        source = self._source
        title = f"{message_class.__name__} v{self._version}"
        errors = source.constant("errors", (struct.error, TypeError, AttributeError, UnicodeEncodeError))
        unencodable = source.constant("UnencodableMessage", UnencodableMessage)
        with source.block("try:"):
            if self._chunked:
                source.line("chunks = []")
                source.line("out = bytearray()")
            self._struct(message_class, "message")
            if self._chunked:
                source.line("chunks.append(out)")
                source.line("return chunks")
            # Some versions of some requests have no fields at all.
            source.line("pass")
        with source.block(f"except {errors} as error:"):
            source.line(f"raise {unencodable}(f'{title}: {{error}}') from error")
        return source.compile("encode", f"encoder of {title}")

    def _struct(self, struct_class: type[Any], instance: str) -> None:
        sent = [field for field in field_schemas(struct_class) if self._version in field.versions]
        for field in sent:
            if field.tag is None:
                self._field(field, f"{instance}.{field.name}")
        if self._flexible:
            self._tagged_fields([field for field in sent if field.tag is not None], instance)
        self._flush()

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
            self._bytes(field.wire_type, value, nullable=nullable)

    def _bytes(self, wire_type: WireType, value: str, *, nullable: bool) -> None:
        source = self._source
        is_string = wire_type is WireType.STRING
        pieces = wire_type is WireType.RECORDS_BUFFERS
        encoded, length = source.fresh("encoded"), source.fresh("length")
        source.line(f"{encoded} = {value}")
        with self._unless_null(encoded, length, nullable=nullable):
            if is_string:
                source.line(f"{encoded} = {encoded}.encode()")
            source.line(f"{length} = sum(map(len, {encoded}))" if pieces else f"{length} = len({encoded})")
        self._length(length, is_string=is_string)
        if wire_type.is_records and self._chunked:
            self._refer(encoded, pieces=pieces)
        elif pieces:
            with source.block(f"for piece in {encoded}:"):
                source.line(f"{self._out} += piece")
        else:
            source.line(f"{self._out} += {encoded}")

    def _refer(self, records: str, *, pieces: bool) -> None:
        self._source.line("chunks.append(out)")
        self._source.line(f"chunks.{'extend' if pieces else 'append'}({records})")
        self._source.line("out = bytearray()")

    def _array(self, field: FieldSchema, value: str, *, nullable: bool) -> None:
        source = self._source
        elements, count = source.fresh(field.name), source.fresh("count")
        source.line(f"{elements} = {value}")
        with self._unless_null(elements, count, nullable=nullable):
            source.line(f"{count} = len({elements})")
        if field.struct_class is None and field.wire_type.is_integer:
            self._integers(field.wire_type.value, count, elements)
            return
        self._length(count, is_string=False)
        element = source.fresh("element")
        with source.block(f"for {element} in {elements}:"):
            if field.struct_class is not None:
                self._struct(field.struct_class, element)
            else:
                self._element(field, element, nullable=False)
                self._flush()

    def _integers(self, element: str, count: str, elements: str) -> None:
        """Length and elements in one go; -1, for null, picks the last packer, so it is handled apart."""
        self._flush()
        prefix, sent_count = ("B", f"{count} + 1") if self._flexible else ("i", count)
        small = self._source.constant("small_array", small_array_packers(prefix, element))
        large = self._source.constant("pack", struct.pack)
        with self._source.block(f"if 0 <= {count} <= {SMALL_ARRAY_MAX}:"):
            self._source.line(f"{self._out} += {small}[{count}]({sent_count}, *{elements})")
        with self._source.block("else:"):
            self._length(count, is_string=False)
            self._source.line(f"{self._out} += {large}(f'>{{len({elements})}}{element}', *{elements})")

    def _single_struct(self, struct_class: type[Any], value: str, *, nullable: bool) -> None:
        instance = self._source.fresh("struct")
        self._flush()
        self._source.line(f"{instance} = {value}")
        if not nullable:
            self._struct(struct_class, instance)
            return
        with self._source.block(f"if {instance} is None:"):
            self._source.line(f"{self._out}.append(255)")
        with self._source.block("else:"):
            self._source.line(f"{self._out}.append(1)")
            self._struct(struct_class, instance)

    def _tagged_fields(self, tagged: list[FieldSchema], instance: str) -> None:
        if not tagged:
            self._run.append(("x", ""))
            return
        self._flush()
        source = self._source
        conditions = {field.name: self._differs(field, f"{instance}.{field.name}") for field in tagged}
        count = source.fresh("tag_count")
        source.line(f"{count} = {' + '.join(f'({condition})' for condition in conditions.values())}")
        source.line(f"{self._out}.append({count})")
        with source.block(f"if {count}:"):
            for field in sorted(tagged, key=lambda field: field.tag or 0):
                with source.block(f"if {conditions[field.name]}:"):
                    self._tagged_field(field, f"{instance}.{field.name}")

    def _differs(self, field: FieldSchema, value: str) -> str:
        if field.default is None:
            return f"{value} is not None"
        if field.is_array:
            return f"len({value}) > 0"
        return f"{value} != {self._source.literal(field.default)}"

    def _tagged_field(self, field: FieldSchema, value: str) -> None:
        outer, self._out = self._out, self._source.fresh("tagged")
        self._source.line(f"{self._out} = bytearray()")
        # What is not sent stands for "no such struct", so a tagged struct is never null on the wire.
        self._field(field.without_null() if field.struct_class else field, value)
        self._flush()
        inner, self._out = self._out, outer
        self._source.line(f"{outer}.append({field.tag})")
        self._source.line(f"{outer} += {self._uvarint}(len({inner}))")
        self._source.line(f"{outer} += {inner}")

    @contextmanager
    def _unless_null(self, value: str, length: str, *, nullable: bool) -> Iterator[None]:
        """Null has the length -1 and is otherwise like something empty."""
        if not nullable:
            yield
            return
        with self._source.block(f"if {value} is None:"):
            self._source.line(f"{value} = b''")
            self._source.line(f"{length} = -1")
        with self._source.block("else:"):
            yield

    def _length(self, length: str, *, is_string: bool) -> None:
        """Appends what waits and a length, which is -1 for null."""
        if not self._flexible:
            self._run.append(("h" if is_string else "i", length))
            self._flush()
            return
        waiting = list(self._run)
        with self._source.block(f"if {length} < 127:"):
            self._run.append(("B", f"{length} + 1"))
            self._flush()
        with self._source.block("else:"):
            self._run = waiting
            self._flush()
            self._source.line(f"{self._out} += {self._uvarint}({length} + 1)")

    def _flush(self) -> None:
        if not self._run:
            return
        formats = "".join(form for form, _ in self._run)
        values = ", ".join(value for _, value in self._run if value)
        self._run = []
        if formats in ("x", "B"):
            self._source.line(f"{self._out}.append({values or 0})")
        else:
            pack = self._source.constant("pack", packer(formats))
            self._source.line(f"{self._out} += {pack}({values})")

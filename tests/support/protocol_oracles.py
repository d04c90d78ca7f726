"""Other implementations of the wire format, asked to encode our messages.

kio's classes are generated from Kafka's message files. kafka-python reads a copy of these files at run
time; it still has the classes written by hand that it used before, which know versions older than kio does.
Each oracle gives the bytes, or None for a message or version that it does not have.
"""

import datetime
import importlib
import io
import uuid
import warnings
from typing import Any

from kio.schema.errors import ErrorCode as KioErrorCode
from kio.serial import entity_writer

from inkless.protocol.schema import FieldSchema, field_schemas
from support.protocol_messages import VersionedMessage

# Where two APIs of Kafka give different structs one name, ours have names of their own.
KAFKA_NAMES = {
    "DivergingEpoch": "EpochEndOffset",
    "IncrementalAlterConfigsResource": "AlterConfigsResource",
    "IncrementalAlterableConfig": "AlterableConfig",
    "IncrementalAlterConfigsResourceResponse": "AlterConfigsResourceResponse",
}
with warnings.catch_warnings():
    # kafka-python reads its message files through a deprecated function.
    warnings.simplefilter("ignore", DeprecationWarning)
    KAFKA_PYTHON = [
        importlib.import_module(f"kafka.protocol.{name}")
        for name in ("admin", "consumer", "metadata", "producer")
    ]
    KAFKA_PYTHON_OLD = [
        importlib.import_module(f"kafka.protocol.old.{name}") for name in ("admin", "commit", "produce")
    ]


def sent_fields(struct: Any, version: int) -> list[FieldSchema]:
    return [field for field in field_schemas(type(struct)) if version in field.versions]


def joined(value: Any) -> bytes | None:
    """Records, in whatever form, as other libraries want them."""
    return None if value is None else b"".join(value) if isinstance(value, list) else bytes(value)


def kio_bytes(which: VersionedMessage, message: Any) -> bytes | None:
    kind = "request" if which.is_request else "response"
    try:
        module = importlib.import_module(f"kio.schema.{which.api.key.name.lower()}.v{which.version}.{kind}")
    except ImportError:
        return None
    entity = _kio_entity(module, message, which.version)
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def _kio_entity(module: Any, struct: Any, version: int) -> Any:
    name = type(struct).__name__
    kio_class = getattr(module, KAFKA_NAMES.get(name, name))
    kio_fields = kio_class.__dataclass_fields__
    values = {}
    for field in sent_fields(struct, version):
        value = getattr(struct, field.name)
        if value is None and field.tag is not None and field.struct_class is not None:
            continue
        kio_name = field.name if field.name in kio_fields else field.name.removesuffix("_ms")
        kind = kio_fields[kio_name].metadata.get("kafka_type")
        values[kio_name] = _kio_value(module, field, kind, value, version)
    return kio_class(**values)


def _kio_value(module: Any, field: FieldSchema, kind: str | None, value: Any, version: int) -> Any:
    if value is None:
        return None
    if field.struct_class is not None:
        if field.is_array:
            return tuple(_kio_entity(module, element, version) for element in value)
        return _kio_entity(module, value, version)
    if field.is_array:
        return tuple(value)
    match kind:
        case "error_code":
            return KioErrorCode(value)
        case "uuid":
            return uuid.UUID(bytes=value) if any(value) else None
        case "records":
            return joined(value)
        case "timedelta_i32" | "timedelta_i64":
            return datetime.timedelta(milliseconds=value)
        case "datetime_i64":
            epoch = datetime.datetime.fromtimestamp(0, datetime.UTC)
            return None if value == -1 else epoch + datetime.timedelta(milliseconds=value)
    return value


def kafka_python_bytes(which: VersionedMessage, message: Any) -> bytes | None:
    name = which.message_class.__name__
    kafka_class = next((getattr(module, name) for module in KAFKA_PYTHON if hasattr(module, name)), None)
    if kafka_class is None or which.version > kafka_class.max_version:
        return None
    container = _kafka_python_container(kafka_class, message, which.version)
    return bytes(container.encode(version=which.version))


def _kafka_python_container(kafka_class: Any, struct: Any, version: int) -> Any:
    values = {}
    for field in sent_fields(struct, version):
        value = getattr(struct, field.name)
        if field.tag is not None and value in (field.default, []):
            continue
        # kafka-python calls some of these fields by a shorter name, and has their bits as a set.
        name = field.name if field.name in kafka_class.fields else "authorized_operations"
        if kafka_class.fields[name].type_str == "bitfield":
            values[name] = {bit for bit in range(32) if value >> bit & 1}
            continue
        values[field.name] = _kafka_python_value(kafka_class, field, value, version)
    return kafka_class(version=version, **values)


def _kafka_python_value(kafka_class: Any, field: FieldSchema, value: Any, version: int) -> Any:
    if value is None:
        return None
    if field.struct_class is not None:
        name = field.struct_class.__name__
        inner = getattr(kafka_class, KAFKA_NAMES.get(name, name))
        if field.is_array:
            return [_kafka_python_container(inner, element, version) for element in value]
        return _kafka_python_container(inner, value, version)
    if field.wire_type.is_records:
        return joined(value)
    return uuid.UUID(bytes=value) if field.wire_type.name == "UUID" else value


def kafka_python_old_bytes(which: VersionedMessage, message: Any) -> bytes | None:
    name = f"{which.message_class.__name__}_v{which.version}"
    old_class = next((getattr(module, name) for module in KAFKA_PYTHON_OLD if hasattr(module, name)), None)
    return None if old_class is None else bytes(old_class(*_values_in_order(message, which.version)).encode())


def _values_in_order(struct: Any, version: int) -> tuple[Any, ...]:
    return tuple(
        _value_in_order(field, getattr(struct, field.name), version) for field in sent_fields(struct, version)
    )


def _value_in_order(field: FieldSchema, value: Any, version: int) -> Any:
    if field.struct_class is not None and value is not None:
        return [_values_in_order(element, version) for element in value]
    return joined(value) if field.wire_type.is_records else value

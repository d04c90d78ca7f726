"""How a consumed record is written to stdout."""

import base64
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from string import Formatter
from typing import NamedTuple


class ConsumedRecord(NamedTuple):
    """A record with the place it was read from."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


RecordWriter = Callable[[ConsumedRecord], bytes]

NULL_TEXT = b"null"


def format_time(timestamp_ms: int) -> str:
    """ISO 8601 in UTC with milliseconds; empty for the timestamp -1 of a record that has none."""
    if timestamp_ms < 0:
        return ""
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        # A client may send any 64-bit number; beyond the calendar the number itself is all there is to show.
        return str(timestamp_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _headers(record: ConsumedRecord) -> bytes:
    return b",".join(
        name.encode(errors="surrogateescape") + b"=" + (NULL_TEXT if value is None else value)
        for name, value in record.headers
    )


PLACEHOLDERS: dict[str, RecordWriter] = {
    "topic": lambda record: record.topic.encode(),
    "partition": lambda record: b"%d" % record.partition,
    "offset": lambda record: b"%d" % record.offset,
    "timestamp": lambda record: b"%d" % record.timestamp_ms,
    "time": lambda record: format_time(record.timestamp_ms).encode(),
    "key": lambda record: NULL_TEXT if record.key is None else record.key,
    "value": lambda record: NULL_TEXT if record.value is None else record.value,
    "headers": _headers,
}

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\"}


def _unescape(text: str) -> str:
    """Newline, tab, return, NUL and backslash, which shells leave escaped; others stay as written."""
    parts = iter(text)
    result: list[str] = []
    for character in parts:
        if character != "\\":
            result.append(character)
            continue
        following = next(parts, "")
        result.append(_ESCAPES.get(following, "\\" + following))
    return "".join(result)


def compile_format(template: str) -> RecordWriter:
    """A writer for a template such as `{key}\\t{value}\\n`; ValueError names what is wrong with it.

    Keys and values are written as they are: what was produced comes out byte for byte.
    """
    writers: list[bytes | RecordWriter] = []
    try:
        pieces = list(Formatter().parse(_unescape(template)))
    except ValueError as error:
        raise ValueError(
            f"unbalanced braces in the format ({error}); write {{{{ and }}}} for braces"
        ) from error
    for literal, field, format_spec, conversion in pieces:
        if literal:
            writers.append(literal.encode())
        if field is None:
            continue
        if field not in PLACEHOLDERS or format_spec or conversion:
            allowed = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
            raise ValueError(f"unknown placeholder '{{{field}}}'; there are {allowed}")
        writers.append(PLACEHOLDERS[field])
    return lambda record: b"".join(part if isinstance(part, bytes) else part(record) for part in writers)


def _json_bytes(data: bytes | None) -> str | dict[str, str] | None:
    """Text where the bytes are text; where they are not, an object that cannot be mistaken for text."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def write_json(record: ConsumedRecord) -> bytes:
    """One JSON object per line.

    Header names that are not UTF-8 hold lone surrogates, which UTF-8 cannot carry but JSON's escapes can.
    """
    answer = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        "key": _json_bytes(record.key),
        "value": _json_bytes(record.value),
        "headers": [[name, _json_bytes(value)] for name, value in record.headers],
    }
    return json.dumps(answer, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"

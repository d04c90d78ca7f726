"""Records as lines of text, which is how the programs in other languages get and give them.

A line has six fields with tabs between them: partition, offset, timestamp in milliseconds, key, value,
headers. Bytes are in base64 and `-` is null; headers are `name:value` with commas between them. A program
that writes ignores the offset.
"""

import base64
from collections.abc import Iterable

from clients.expected_records import ExpectedRecord, ReadRecord

_NULL = "-"


def to_lines(records: Iterable[ReadRecord]) -> str:
    return "".join(_to_line(each) for each in records)


def from_lines(text: str) -> list[ReadRecord]:
    return [_from_line(line) for line in text.splitlines()]


def _to_line(read: ReadRecord) -> str:
    record = read.record
    headers = ",".join(f"{_text(name.encode())}:{_text(value)}" for name, value in record.headers)
    fields = (
        read.partition,
        read.offset,
        record.timestamp_ms,
        _text(record.key),
        _text(record.value),
        headers,
    )
    return "\t".join(map(str, fields)) + "\n"


def _from_line(line: str) -> ReadRecord:
    partition, offset, timestamp_ms, key, value, headers = line.split("\t")
    return ReadRecord(
        int(partition),
        int(offset),
        ExpectedRecord(
            _bytes(key),
            _bytes(value),
            tuple(_header(each) for each in headers.split(",") if each),
            int(timestamp_ms),
        ),
    )


def _header(text: str) -> tuple[str, bytes | None]:
    name, value = text.split(":")
    return (_bytes(name) or b"").decode(), _bytes(value)


def _text(content: bytes | None) -> str:
    return _NULL if content is None else base64.b64encode(content).decode()


def _bytes(text: str) -> bytes | None:
    return None if text == _NULL else base64.b64decode(text, validate=True)

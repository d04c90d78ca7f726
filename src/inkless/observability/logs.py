"""Log lines for people (`time level logger message key=value`) or for machines (one JSON object each)."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

_PLAIN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def configure_logging(
    *, level: str = "INFO", line_format: str = "text", stream: TextIO | None = None
) -> None:
    """Sends everything from `level` on to `stream` (stderr), in place of what an earlier call set up.

    `line_format` is `text` or `json`.
    """
    handler = _Handler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if line_format == "json" else TextLines())
    root = logging.getLogger()
    for earlier in [each for each in root.handlers if isinstance(each, _Handler)]:
        root.removeHandler(earlier)
    root.addHandler(handler)
    root.setLevel(level)


class _Handler(logging.StreamHandler[TextIO]):
    """Ours, so that setting up twice replaces it and leaves everybody else's alone."""


class TextLines(logging.Formatter):
    """One line, and below it the traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        pairs = "".join(f" {key}={_quoted(value)}" for key, value in _extras(record).items())
        message = _one_line(record.getMessage())
        line = f"{_time(record)} {record.levelname} {record.name} {message}{pairs}"
        error = _traceback(self, record)
        return f"{line}\n{error}" if error else line


class JsonLines(logging.Formatter):
    """One JSON object; the keys of `extra` beside those of the line itself."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            **_extras(record),
            "time": _time(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if error := _traceback(self, record):
            fields["error"] = error
        return json.dumps(fields, default=str, ensure_ascii=False)


def _extras(record: logging.LogRecord) -> dict[str, Any]:
    return {key: value for key, value in vars(record).items() if key not in _PLAIN_ATTRIBUTES}


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    parts = [formatter.formatException(record.exc_info)] if record.exc_info else []
    if record.stack_info:
        parts.append(formatter.formatStack(record.stack_info))
    return "\n".join(parts)


def _quoted(value: Any) -> str:
    text = str(value)
    if text and text.isprintable() and not any(character in text for character in ' "='):
        return text
    return json.dumps(text, ensure_ascii=False)


def _one_line(text: str) -> str:
    # What clients send ends up in messages, and must not be able to forge a line.
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()

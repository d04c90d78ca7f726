"""Which names a topic may have; Kafka's own rules, so that every client's idea of a legal name holds here."""

import re

from inkless.errors import RequestError
from inkless.protocol.error_codes import ErrorCode

NAME_LENGTH_MAX = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    """Raises RequestError(INVALID_TOPIC_EXCEPTION) with the reason."""
    reason = None
    if not name:
        reason = "it is empty"
    elif name in (".", ".."):
        reason = "it is '.' or '..'"
    elif len(name) > NAME_LENGTH_MAX:
        reason = f"it is longer than {NAME_LENGTH_MAX} characters"
    elif _LEGAL.fullmatch(name) is None:
        reason = "it has characters other than ASCII letters, digits, '.', '_' and '-'"
    if reason is not None:
        raise RequestError(
            ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name {name[:64]!r} is illegal: {reason}"
        )


def collides(name: str, other: str) -> bool:
    """Names that differ only in '.' and '_' would share a metric name in Kafka's tools."""
    return name != other and name.replace(".", "_") == other.replace(".", "_")

"""Where a consumer begins: what the flags of `inkless consume` mean together."""

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class FromBeginning:
    """The first record that is still there."""


@dataclass(frozen=True, slots=True)
class FromEnd:
    """Records written from now on; `back` many of those before as well."""

    back: int = 0


@dataclass(frozen=True, slots=True)
class FromOffset:
    """The same offset in every partition that is read."""

    offset: int


@dataclass(frozen=True, slots=True)
class FromTimestamp:
    """The first record not older than this."""

    timestamp_ms: int


StartPosition = FromBeginning | FromEnd | FromOffset | FromTimestamp


def choose_start(*, from_beginning: bool, offset: int | None, from_timestamp: str | None) -> StartPosition:
    """At most one flag may be given; none means the end. ValueError says which ones exclude each other."""
    given = [
        flag
        for flag, is_given in (
            ("--from-beginning", from_beginning),
            ("--offset", offset is not None),
            ("--from-timestamp", from_timestamp is not None),
        )
        if is_given
    ]
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} exclude each other; give one of them")
    if from_beginning:
        return FromBeginning()
    if offset is not None:
        return FromOffset(offset) if offset >= 0 else FromEnd(back=-offset)
    if from_timestamp is not None:
        return FromTimestamp(parse_timestamp_ms(from_timestamp))
    return FromEnd()


def parse_timestamp_ms(text: str) -> int:
    """Milliseconds since the epoch, or a date as ISO 8601 writes it; UTC where it names no zone."""
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(
            f"'{text}' is no time; expected milliseconds since 1970 or a date like 2026-01-31T12:00:00Z"
        ) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)

import pytest

from inkless.cli.start_position import (
    FromBeginning,
    FromEnd,
    FromOffset,
    FromTimestamp,
    StartPosition,
    choose_start,
    parse_timestamp_ms,
)


@pytest.mark.parametrize(
    ("offset", "start"), [(None, FromEnd()), (0, FromOffset(0)), (17, FromOffset(17)), (-3, FromEnd(back=3))]
)
def test_an_offset_counts_from_the_start_or_back_from_the_end(
    offset: int | None, start: StartPosition
) -> None:
    assert choose_start(from_beginning=False, offset=offset, from_timestamp=None) == start


def test_the_beginning_and_a_time_are_places_to_start() -> None:
    assert choose_start(from_beginning=True, offset=None, from_timestamp=None) == FromBeginning()
    assert choose_start(from_beginning=False, offset=None, from_timestamp="5") == FromTimestamp(5)


def test_two_places_to_start_are_refused() -> None:
    with pytest.raises(ValueError, match="--from-beginning and --offset exclude each other"):
        choose_start(from_beginning=True, offset=0, from_timestamp=None)


@pytest.mark.parametrize(
    ("text", "timestamp_ms"),
    [
        ("1700000000123", 1_700_000_000_123),
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01.5", 1500),
        ("1970-01-01T01:00:00+01:00", 0),
        ("2023-11-14T22:13:20.123Z", 1_700_000_000_123),
    ],
)
def test_times_are_milliseconds_or_iso_dates(text: str, timestamp_ms: int) -> None:
    assert parse_timestamp_ms(text) == timestamp_ms


def test_what_is_no_time_is_refused_with_an_example() -> None:
    with pytest.raises(ValueError, match=r"'yesterday' is no time; .*2026"):
        parse_timestamp_ms("yesterday")

import json

import pytest

from inkless.cli.record_format import ConsumedRecord, compile_format, format_time, write_json

RECORD = ConsumedRecord(
    topic="orders",
    partition=2,
    offset=41,
    timestamp_ms=1_700_000_000_123,
    key=b"k",
    value=b"\xff\x00",
    headers=(("trace", b"7"), ("empty", None)),
)


def test_values_come_out_byte_for_byte() -> None:
    assert compile_format("{value}")(RECORD) == b"\xff\x00"


def test_every_placeholder_is_filled() -> None:
    template = "{topic}/{partition}@{offset} {timestamp} {time} {key} {headers}"
    assert compile_format(template)(RECORD) == (
        b"orders/2@41 1700000000123 2023-11-14T22:13:20.123Z k trace=7,empty=null"
    )


def test_a_null_key_is_written_as_null() -> None:
    assert compile_format("{key}:")(RECORD._replace(key=None)) == b"null:"


def test_escapes_are_those_that_shells_leave_alone() -> None:
    assert compile_format(r"{key}\t\n\0\\\q{{}}")(RECORD) == b"k\t\n\0\\\\q{}"


def test_an_unknown_placeholder_names_those_that_exist() -> None:
    with pytest.raises(ValueError, match=r"unknown placeholder '\{vlaue\}'.*\{value\}"):
        compile_format("{vlaue}")


@pytest.mark.parametrize("template", ["{key", "}", "{key!r}", "{key:>9}", "{}"])
def test_templates_that_are_not_ours_are_refused(template: str) -> None:
    with pytest.raises(ValueError, match=r"braces|unknown placeholder"):
        compile_format(template)


def test_json_tells_binary_from_text() -> None:
    assert json.loads(write_json(RECORD)) == {
        "topic": "orders",
        "partition": 2,
        "offset": 41,
        "timestamp_ms": 1_700_000_000_123,
        "key": "k",
        "value": {"base64": "/wA="},
        "headers": [["trace", "7"], ["empty", None]],
    }


def test_json_is_one_line_whatever_the_value_holds() -> None:
    line = write_json(RECORD._replace(value=b"a\nb\r\n"))
    assert line.count(b"\n") == 1
    assert json.loads(line)["value"] == "a\nb\r\n"


@pytest.mark.parametrize(
    ("timestamp_ms", "text"), [(-1, ""), (0, "1970-01-01T00:00:00.000Z"), (2**62, str(2**62))]
)
def test_times_outside_the_calendar_are_shown_as_numbers(timestamp_ms: int, text: str) -> None:
    assert format_time(timestamp_ms) == text


def test_header_names_that_are_not_utf8_survive() -> None:
    name = b"\xffname".decode(errors="surrogateescape")
    record = RECORD._replace(headers=((name, b"1"),))
    assert compile_format("{headers}")(record) == b"\xffname=1"
    assert json.loads(write_json(record))["headers"] == [[name, "1"]]

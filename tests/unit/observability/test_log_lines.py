import io
import json
import logging
from collections.abc import Iterator

import pytest

from inkless.observability import configure_logging

log = logging.getLogger("inkless.tests.lines")


@pytest.fixture(autouse=True)
def _leave_the_root_logger_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_text_line_has_time_level_logger_message_and_pairs() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    log.info("broker %s", "ready", extra={"port": 9092, "zone": "us east", "note": ""})
    time, rest = stream.getvalue().split(" ", 1)
    assert time.endswith("Z")
    assert len(time) == len("2024-01-01T00:00:00.000Z")
    assert rest == 'INFO inkless.tests.lines broker ready port=9092 zone="us east" note=""\n'


def test_what_a_client_sends_cannot_forge_a_line() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    log.info("client %s", "a\nERROR forged", extra={"client_id": "b\nERROR forged"})
    assert stream.getvalue().count("\n") == 1
    assert "a\\nERROR forged" in stream.getvalue()


def test_json_line_is_one_object_with_the_extras_in_it() -> None:
    stream = io.StringIO()
    configure_logging(line_format="json", stream=stream)
    log.warning("slow\nupload", extra={"object": "ab", "size_bytes": 7, "level": "not this one"})
    line = json.loads(stream.getvalue())
    assert stream.getvalue().count("\n") == 1
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "WARNING",
        "logger": "inkless.tests.lines",
        "message": "slow\nupload",
        "object": "ab",
        "size_bytes": 7,
    }


@pytest.mark.parametrize("line_format", ["text", "json"])
def test_error_is_logged_with_its_traceback(line_format: str) -> None:
    stream = io.StringIO()
    configure_logging(line_format=line_format, stream=stream)
    try:
        raise RuntimeError("the reason")
    except RuntimeError:
        log.exception("failed")
    assert "RuntimeError: the reason" in stream.getvalue()
    assert "test_log_lines.py" in stream.getvalue()


def test_level_is_the_least_severe_that_is_logged() -> None:
    stream = io.StringIO()
    configure_logging(level="WARNING", stream=stream)
    log.info("unseen")
    log.warning("seen")
    assert "unseen" not in stream.getvalue()
    assert "seen" in stream.getvalue()


def test_setting_up_again_replaces_only_what_was_set_up() -> None:
    first, second, others = io.StringIO(), io.StringIO(), io.StringIO()
    foreign = logging.StreamHandler(others)
    logging.getLogger().addHandler(foreign)
    configure_logging(stream=first)
    configure_logging(stream=second)
    log.info("once")
    assert first.getvalue() == ""
    assert second.getvalue().count("once") == 1
    assert others.getvalue().count("once") == 1

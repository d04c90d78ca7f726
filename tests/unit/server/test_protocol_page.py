from pathlib import Path

from inkless.protocol.api_keys import ApiKey
from inkless.server.protocol_page import protocol_page

PAGE = Path(__file__).parents[3] / "docs" / "protocol.md"


def test_page_is_what_the_table_says() -> None:
    assert PAGE.read_text() == protocol_page(), "stale: run `make docs`"


def test_every_api_is_either_served_or_not() -> None:
    served, not_served = protocol_page().split("## Not served")
    for api_key in ApiKey:
        assert (f"| {api_key:d} |" in served) != (f"({api_key:d})" in not_served)


def test_handlers_are_where_the_page_says() -> None:
    links = [line.split("](")[1].split(")")[0] for line in protocol_page().splitlines() if "](" in line]
    assert links
    assert [link for link in links if not (PAGE.parent / link).is_file()] == []

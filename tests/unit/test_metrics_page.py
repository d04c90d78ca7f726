from pathlib import Path

from inkless.metrics_page import metrics_page

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


async def test_page_is_what_a_broker_publishes() -> None:
    assert PAGE.read_text() == await metrics_page(), "stale: run `make docs`"

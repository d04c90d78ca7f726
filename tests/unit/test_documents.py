"""What the written pages refer to exists: other pages, settings, metrics, files of ours."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text()
METRICS = (ROOT / "docs" / "metrics.md").read_text()
FIXTURES = {"inkless_broker", "inkless_topic"}

LINK = re.compile(r"\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
SETTING = re.compile(r"`(inkless(?:\.[a-z0-9]+){2,})(?:=[^`]*)?`")
METRIC = re.compile(r"`(inkless_[a-z_]+)")
SOURCE_FILE = re.compile(r"`((?:src|tests)/[\w/.]+)`")


def anchors(text: str) -> set[str]:
    """As GitHub makes them of headings."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in HEADING.findall(text)}


def dead_links(page: Path, text: str) -> list[str]:
    dead = []
    for path, anchor in LINK.findall(text):
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            dead.append(f"{path}#{anchor}")
    return dead


def unknown_settings(page: Path, text: str) -> list[str]:
    modules = {"inkless.testing.Broker"}
    return [key for key in SETTING.findall(text) if f"`{key}`" not in CONFIGURATION and key not in modules]


def unknown_metrics(page: Path, text: str) -> list[str]:
    return [name for name in METRIC.findall(text) if f"`{name}" not in METRICS and name not in FIXTURES]


def missing_files(page: Path, text: str) -> list[str]:
    return [path for path in SOURCE_FILE.findall(text) if not (ROOT / path).exists()]


CHECKS = [dead_links, unknown_settings, unknown_metrics, missing_files]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_refers_to_what_exists(page: Path) -> None:
    text = page.read_text()
    assert [found for check in CHECKS for found in check(page, text)] == []


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (dead_links, "[gone](docs/gone.md)"),
        (dead_links, "[gone](README.md#no-such-heading)"),
        (dead_links, "[gone](#no-such-heading)"),
        (unknown_settings, "`inkless.produce.no.such.key`"),
        (unknown_metrics, "`inkless_no_such_metric_total`"),
        (missing_files, "`src/inkless/no_such_module.py`"),
    ],
)
def test_reference_to_nothing_is_found(check: Callable[[Path, str], list[str]], text: str) -> None:
    assert check(ROOT / "README.md", text)

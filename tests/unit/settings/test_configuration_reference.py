from pathlib import Path

from inkless.settings.reference import reference
from inkless.settings.sections import declared_keys
from inkless.settings.topic_table import SYNONYMS, TOPIC_CONFIGS

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"


def test_page_is_what_the_declarations_say() -> None:
    assert PAGE.read_text() == reference(), "stale: run `make docs`"


def test_page_names_every_key() -> None:
    page = reference()
    declared = {name for key in declared_keys() for name in (key.name, *key.aliases)}
    for name in declared | set(SYNONYMS) | set(TOPIC_CONFIGS):
        assert f"`{name}`" in page

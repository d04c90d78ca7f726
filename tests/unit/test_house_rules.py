"""Rules of this code base that no linter can say. Each test lists what breaks its rule."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "inkless"

LINES_MAX = 500
VAGUE_NAMES = re.compile(r"manager|helper|util|common|misc", re.IGNORECASE)
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def is_too_long(path: Path, text: str) -> bool:
    return len(text.splitlines()) > LINES_MAX


def is_unfinished(path: Path, text: str) -> bool:
    return UNFINISHED.search(text) is not None


def says_not_what_it_is_for(path: Path, text: str) -> bool:
    return not ast.get_docstring(ast.parse(text))


def has_a_vague_name(path: Path, text: str) -> bool:
    classes = [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    return any(VAGUE_NAMES.search(name) for name in (*path.with_suffix("").parts, *classes))


def is_in_no_package(path: Path, text: str) -> bool:
    return not (SOURCE / path).with_name("__init__.py").exists()


RULES = [is_too_long, is_unfinished, says_not_what_it_is_for, has_a_vague_name, is_in_no_package]


@pytest.mark.parametrize("breaks_rule", RULES, ids=lambda rule: rule.__name__)
def test_no_module(breaks_rule: Callable[[Path, str], bool]) -> None:
    modules = sorted(SOURCE.rglob("*.py"))
    assert SOURCE / "errors.py" in modules
    named = [(module.relative_to(SOURCE), module.read_text()) for module in modules]
    assert [str(path) for path, text in named if breaks_rule(path, text)] == []


@pytest.mark.parametrize(
    ("breaks_rule", "path", "text"),
    [
        (is_too_long, "a.py", "\n" * (LINES_MAX + 1)),
        (is_unfinished, "a.py", "# TODO: later"),
        (says_not_what_it_is_for, "a.py", "x = 1"),
        (has_a_vague_name, "a/string_utils.py", ""),
        (has_a_vague_name, "a.py", "class TopicManager: pass"),
        (is_in_no_package, "no/such/folder/a.py", ""),
    ],
)
def test_rule_can_be_broken(breaks_rule: Callable[[Path, str], bool], path: str, text: str) -> None:
    assert breaks_rule(Path(path), text)


def test_folders_of_tests_are_no_packages() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []

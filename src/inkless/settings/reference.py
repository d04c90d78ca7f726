"""docs/configuration.md, written from the declarations: `python -m inkless.settings.reference > FILE`."""

import sys
from collections.abc import Iterator
from typing import Any

from inkless.settings.keys import Key, keys_of
from inkless.settings.kinds import INT_MAX, LONG_MAX, Kind
from inkless.settings.sections import SECTIONS
from inkless.settings.topic_table import TOPIC_CONFIGS, TopicConfig

_HEAD = """\
# Configuration

This page is generated from the declarations in `src/inkless/settings` by `make docs`.

A broker reads, in this order, its defaults, a file in the syntax of Java's `.properties` (`-c FILE`) and
single settings from the command line (`-o KEY=VALUE`); the later one counts. A value that is not allowed
stops the broker before it does anything; a key that is not known is logged as a warning.
"""

_TOPICS_HEAD = """\
## Topics

Set per topic, by `kafka-configs`, `inkless configs` or any admin client. The broker keys in the second column
set the default of every topic that has no value of its own; where several are set, the first one counts.

| Topic config | Broker keys | Default | Allowed | Meaning |
|---|---|---|---|---|
"""


def reference() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *_sections(), _TOPICS_HEAD + "".join(map(_topic_row, TOPIC_CONFIGS.values()))])


def _sections() -> Iterator[str]:
    for section in SECTIONS.values():
        rows = "".join(_key_row(bound.key) for bound in keys_of(section.declared_by))
        yield f"## {section.title}\n\n| Key | Default | Allowed | Meaning |\n|---|---|---|---|\n{rows}"


def _key_row(key: Key) -> str:
    names = " or ".join(f"`{name}`" for name in (key.name, *key.aliases))
    default = key.derived or _shown(key.kind, key.default)
    return _row(names, default, _allowed(key.kind), key.doc)


def _topic_row(config: TopicConfig) -> str:
    synonyms = ", ".join(f"`{synonym.key}`" for synonym in config.synonyms)
    default = _shown(config.kind, config.default)
    return _row(f"`{config.name}`", synonyms, default, _allowed(config.kind), config.doc)


def _row(*cells: str) -> str:
    escaped = (cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells)
    return f"| {' | '.join(escaped)} |\n"


def _shown(kind: Kind[Any], value: Any) -> str:
    text = kind.render(value)
    if not text:
        return "none"
    if value == LONG_MAX:
        return "no limit"
    return f"`{text}` {kind.unit}".rstrip()


def _allowed(kind: Kind[Any]) -> str:
    text = kind.allowed
    for limit in (LONG_MAX, INT_MAX):
        # The largest number of the type says nothing to a reader.
        text = text.replace(f" to {limit}", " up")
    return f"{text} ({kind.unit})" if kind.unit else text


def main() -> None:
    sys.stdout.write(reference())


if __name__ == "__main__":
    main()

"""Configs as tables and JSON show them."""

from collections.abc import Iterable, Sequence
from typing import Any

from inkless.cli.tables import format_table
from inkless.client.admin import ConfigEntry

DEFAULT_SOURCE = 5
SOURCES = {
    0: "unknown",
    1: "topic",
    2: "broker",
    3: "all brokers",
    4: "broker file",
    DEFAULT_SOURCE: "default",
    6: "broker logger",
    7: "client metrics",
    8: "group",
}
"""Kafka's ConfigSource numbers, in the words of somebody who asks where a value was set."""

SENSITIVE_TEXT = "(hidden)"


def choose_entries(entries: Iterable[ConfigEntry], *, with_defaults: bool) -> list[ConfigEntry]:
    """By name; without the defaults unless they are asked for, since there are many and nobody set them."""
    chosen = [entry for entry in entries if with_defaults or entry.source != DEFAULT_SOURCE]
    return sorted(chosen, key=lambda entry: entry.name)


def config_table(entries: Sequence[ConfigEntry]) -> str:
    return format_table(
        ["config", "value", "source", "read-only"],
        [
            [
                entry.name,
                SENSITIVE_TEXT if entry.sensitive else entry.value,
                source_name(entry.source),
                "yes" if entry.read_only else "no",
            ]
            for entry in entries
        ],
    )


def config_json(entries: Sequence[ConfigEntry]) -> list[dict[str, Any]]:
    return [
        {
            "name": entry.name,
            "value": None if entry.sensitive else entry.value,
            "source": source_name(entry.source),
            "read_only": entry.read_only,
            "sensitive": entry.sensitive,
        }
        for entry in entries
    ]


def source_name(source: int) -> str:
    return SOURCES.get(source, f"source {source}")

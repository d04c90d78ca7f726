"""Schema migrations as numbered SQL files, in a `migrations` folder beside each backend's code."""

import re
from importlib import resources
from typing import NamedTuple

_FILE_NAME = re.compile(r"(\d{4})_\w+\.sql")


class Migration(NamedTuple):
    number: int
    name: str
    sql: str


def load_migrations(package: str) -> list[Migration]:
    """Those of a backend's package, in the order in which they are applied, numbered from 1 without gaps."""
    folder = resources.files(package) / "migrations"
    found = [
        Migration(int(match[1]), file.name, file.read_text())
        for file in folder.iterdir()
        if (match := _FILE_NAME.fullmatch(file.name))
    ]
    return sorted(found)

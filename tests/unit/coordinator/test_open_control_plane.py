from pathlib import Path

import pytest

from inkless.coordinator.open import sqlite_path
from inkless.errors import ConfigurationError


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///var/lib/inkless.db", "/var/lib/inkless.db"),
        ("sqlite:////var/lib/inkless.db", "/var/lib/inkless.db"),
        ("sqlite:///a%20b/c.db", "/a b/c.db"),
    ],
)
def test_sqlite_url_names_a_file(url: str, path: str) -> None:
    assert sqlite_path(url) == Path(path)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://db/inkless",
        "inkless://host:1",
        "",
        "sqlite:",
        "sqlite:///",
        "sqlite://host/file.db",
        "/a.db",
    ],
)
def test_other_urls_are_refused_by_key_and_value(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"inkless\.control\.plane\.url") as raised:
        sqlite_path(url)
    assert f"'{url}'" in str(raised.value)
    assert "sqlite:///" in str(raised.value)

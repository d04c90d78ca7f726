import sqlite3
from pathlib import Path

import pytest

from inkless.coordinator.migration_files import Migration, load_migrations
from inkless.coordinator.sqlite import migrations
from inkless.coordinator.sqlite.connection import WriteLock, connect
from inkless.coordinator.sqlite.migrations import migrate
from inkless.errors import ConfigurationError

PACKAGE = "inkless.coordinator.sqlite"


@pytest.fixture
def lock(tmp_path: Path) -> WriteLock:
    return WriteLock(tmp_path / "a.db")


@pytest.fixture
def connection(tmp_path: Path) -> sqlite3.Connection:
    return connect(tmp_path / "a.db", busy_timeout_ms=1_000)


def schema_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@pytest.mark.parametrize("package", [PACKAGE, "inkless.coordinator.postgres"])
def test_migrations_are_numbered_without_gaps_from_one(package: str) -> None:
    found = load_migrations(package)
    assert [each.number for each in found] == list(range(1, len(found) + 1))


def test_database_is_brought_to_the_newest_schema_once(
    connection: sqlite3.Connection, lock: WriteLock
) -> None:
    migrate(connection, lock)
    tables = connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
    migrate(connection, lock)
    assert schema_version(connection) == len(load_migrations(PACKAGE))
    assert connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall() == tables


def test_newer_database_is_refused(connection: sqlite3.Connection, lock: WriteLock) -> None:
    migrate(connection, lock)
    connection.execute("PRAGMA user_version = 9999")
    with pytest.raises(ConfigurationError, match="9999"):
        migrate(connection, lock)


def test_migration_that_fails_leaves_nothing_behind(
    connection: sqlite3.Connection, lock: WriteLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Migration(1, "0001_break.sql", "CREATE TABLE a (b);\n-- c;\nCREATE TABLE a (b);\n")
    monkeypatch.setattr(migrations, "load_migrations", lambda _: [broken])
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, lock)
    assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    assert schema_version(connection) == 0


def test_acknowledged_means_synced(connection: sqlite3.Connection) -> None:
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    full = 2
    assert connection.execute("PRAGMA synchronous").fetchone() == (full,)

import sqlite3
from pathlib import Path

import pytest

from inkless.coordinator.sqlite import migrations
from inkless.coordinator.sqlite.connection import WriteLock, connect
from inkless.coordinator.sqlite.migrations import Migration, load_migrations, migrate
from inkless.errors import ConfigurationError


@pytest.fixture
def lock(tmp_path: Path) -> WriteLock:
    return WriteLock(tmp_path / "a.db")


@pytest.fixture
def connection(tmp_path: Path) -> sqlite3.Connection:
    return connect(tmp_path / "a.db", busy_timeout_ms=1_000)


def schema_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_migrations_are_numbered_without_gaps_from_one() -> None:
    assert [each.number for each in load_migrations()] == list(range(1, len(load_migrations()) + 1))


def test_database_is_brought_to_the_newest_schema_once(
    connection: sqlite3.Connection, lock: WriteLock
) -> None:
    migrate(connection, lock)
    tables = connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
    migrate(connection, lock)
    assert schema_version(connection) == len(load_migrations())
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
    monkeypatch.setattr(migrations, "load_migrations", lambda: [broken])
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, lock)
    assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    assert schema_version(connection) == 0


def test_acknowledged_means_synced(connection: sqlite3.Connection) -> None:
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    full = 2
    assert connection.execute("PRAGMA synchronous").fetchone() == (full,)

"""Brings a database file to the newest schema.

Migrations are the numbered files of the `migrations` folder; each is applied once, in its own transaction,
under the lock between processes. The number of the last one is the file's `user_version`. A file that is
newer than this program is refused: nobody can know what it means.
"""

import sqlite3

from inkless.coordinator.migration_files import Migration, load_migrations
from inkless.coordinator.sqlite.connection import WriteLock, write_transaction
from inkless.errors import ConfigurationError


def migrate(connection: sqlite3.Connection, lock: WriteLock) -> None:
    migrations = load_migrations(__package__)
    for migration in migrations:
        with write_transaction(connection, lock):
            applied = _schema_version(connection)
            if applied > migrations[-1].number:
                raise ConfigurationError(
                    f"inkless.control.plane.url: the database has schema {applied}, this version knows up to "
                    f"{migrations[-1].number}; use a newer version"
                )
            if applied < migration.number:
                _apply(connection, migration)


def _apply(connection: sqlite3.Connection, migration: Migration) -> None:
    for statement in _statements(migration.sql):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {migration.number:d}")


def _statements(script: str) -> list[str]:
    """One by one, since `executescript` would end the transaction that makes a migration atomic."""
    statements = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending)
            pending = ""
    return statements


def _schema_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])

"""Brings a database to the newest schema.

Migrations are the numbered files of the `migrations` folder; those that are missing are applied in one
transaction, under a lock, so any number of brokers may start at once. During an upgrade old and new brokers
work on the same database: a migration only adds, and an older program goes on with a newer schema. One that
cannot be lived with raises `oldest_program`, and programs that know fewer migrations than that refuse to
start.
"""

from inkless.coordinator.migration_files import Migration, load_migrations
from inkless.coordinator.postgres.connections import Connection, Lock, Pool
from inkless.errors import ConfigurationError

_CREATE_BOOKS = """
    CREATE TABLE IF NOT EXISTS schema_migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS schema_needs (
        singleton INTEGER PRIMARY KEY CHECK (singleton = 1), oldest_program INTEGER NOT NULL);
    INSERT INTO schema_needs VALUES (1, 1) ON CONFLICT DO NOTHING;
"""
_STANDING = """
    SELECT coalesce((SELECT max(number) FROM schema_migrations), 0), (SELECT oldest_program FROM schema_needs)
"""


async def migrate(pool: Pool) -> None:
    migrations = load_migrations(__package__)
    # A user who may not create tables can start a broker on a database that is up to date.
    async with pool.connection() as connection:
        if await _is_current(connection, migrations):
            return
    await pool.transact(lambda connection: _apply_missing(connection, migrations), locks=[Lock.SCHEMA])


async def _is_current(connection: Connection, migrations: list[Migration]) -> bool:
    # Made in one transaction with the first migration, so they are there together or not at all.
    if await connection.fetchval("SELECT to_regclass('schema_needs')") is None:
        return False
    return await _applied(connection, migrations) >= migrations[-1].number


async def _apply_missing(connection: Connection, migrations: list[Migration]) -> None:
    await connection.execute(_CREATE_BOOKS)
    applied = await _applied(connection, migrations)
    for migration in migrations:
        if migration.number > applied:
            await connection.execute(migration.sql)
            await connection.execute(
                "INSERT INTO schema_migrations VALUES ($1, $2)", migration.number, migration.name
            )


async def _applied(connection: Connection, migrations: list[Migration]) -> int:
    row = await connection.fetchrow(_STANDING)
    applied, oldest_program = tuple(row or ())
    if oldest_program > migrations[-1].number:
        raise ConfigurationError(
            f"inkless.control.plane.url: the database needs schema {oldest_program}, this version knows up "
            f"to {migrations[-1].number}; use a newer version"
        )
    return int(applied)

"""What is special to the PostgreSQL backend: grouping, faults, restarts, several processes, notices."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from inkless.clock import SystemClock, SystemEntropy
from inkless.coordinator.migration_files import load_migrations
from inkless.coordinator.open import open_control_plane
from inkless.coordinator.postgres.connections import Lock
from inkless.coordinator.postgres.control_plane import PostgresControlPlane
from inkless.coordinator.postgres.settings import PostgresSettings
from inkless.coordinator.types import DeleteRecordsRequest, FindRequest, PartitionId
from inkless.errors import ConfigurationError, InvariantViolated, Unavailable
from support.coordinator_commits import new_topic, object_of, plain, sequenced
from support.postgres import PostgresServer, running_postgres

pytestmark = pytest.mark.postgres

PLENTY = 1 << 30


async def open_plane(url: str, **settings: Any) -> PostgresControlPlane:
    return await PostgresControlPlane.open(
        replace(PostgresSettings(url), **settings), clock=SystemClock(), entropy=SystemEntropy()
    )


@pytest.fixture
def url(postgres_server: PostgresServer) -> Iterator[str]:
    with postgres_server.fresh_database() as fresh:
        yield fresh


@pytest.fixture
async def plane(url: str) -> AsyncIterator[PostgresControlPlane]:
    opened = await open_plane(url)
    yield opened
    await opened.close()


@pytest.fixture
async def database(url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A look past the control plane."""
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


async def one_partition(plane: PostgresControlPlane) -> PartitionId:
    topic = await plane.create_topic(new_topic("events"))
    return PartitionId(topic.shard, topic.topic_id, 0)


async def test_waiting_commits_share_a_transaction(
    plane: PostgresControlPlane, database: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    partition = await one_partition(plane)
    await asyncio.gather(*(plane.commit_objects([object_of({partition: [plain()]})]) for _ in range(100)))
    transactions = await database.fetchval("SELECT count(DISTINCT xmin::text) FROM objects")
    assert 1 <= transactions <= 50


async def test_commit_that_cannot_be_stored_does_not_fail_its_group(plane: PostgresControlPlane) -> None:
    partition = await one_partition(plane)
    poison = object_of({partition: [plain(max_timestamp_ms=2**64)]})
    answers = await asyncio.gather(
        *(
            plane.commit_objects([each])
            for each in (object_of({partition: [plain()]}), poison, object_of({partition: [plain()]}))
        ),
        return_exceptions=True,
    )
    assert isinstance(answers[1], InvariantViolated)
    offsets = [answer[0][0].base_offsets[0] for answer in answers if isinstance(answer, list)]
    assert offsets == [0, 1]


async def test_faults_of_the_database_are_unavailable_and_leave_nothing(
    plane: PostgresControlPlane, database: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    partition = await one_partition(plane)
    await plane.commit_objects([object_of({partition: [sequenced(0)]})])
    await database.execute(
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'injected fault'; END $$;"
        "CREATE TRIGGER fault BEFORE INSERT ON producers EXECUTE FUNCTION fail()"
    )
    failed = object_of({partition: [sequenced(1)]})
    with pytest.raises(Unavailable, match="injected fault") as raised:
        await plane.commit_objects([failed])
    assert isinstance(raised.value.__cause__, asyncpg.PostgresError)
    await database.execute("DROP TRIGGER fault ON producers")
    ((result,),) = await plane.commit_objects([failed])
    assert (list(result.base_offsets), result.duplicates) == ([1], frozenset())


async def test_transaction_that_was_given_up_for_another_is_tried_again(
    plane: PostgresControlPlane, database: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    partition = await one_partition(plane)
    # A sequence is not rolled back with the transaction, so it counts the attempts.
    await database.execute(
        "CREATE SEQUENCE attempts MINVALUE -1000 START 1;"
        "CREATE FUNCTION give_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF nextval('attempts') < 3 THEN RAISE EXCEPTION SQLSTATE '40P01'; END IF; RETURN NULL; END $$;"
        "CREATE TRIGGER conflict AFTER INSERT ON runs EXECUTE FUNCTION give_up()"
    )
    ((result,),) = await plane.commit_objects([object_of({partition: [plain()]})])
    assert list(result.base_offsets) == [0]
    assert await database.fetchval("SELECT last_value FROM attempts") == 3
    await database.execute("ALTER SEQUENCE attempts RESTART WITH -1000")
    with pytest.raises(Unavailable):
        await plane.commit_objects([object_of({partition: [plain()]})])
    assert await database.fetchval("SELECT last_value FROM attempts") == -1000 + 3


async def test_lock_that_another_holds_is_unavailable_within_the_time(
    url: str, database: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    plane = await open_plane(url, call_timeout_ms=100)
    partition = await one_partition(plane)
    held = object_of({partition: [plain(3)]})
    async with database.transaction():
        await database.execute(f"SELECT pg_advisory_xact_lock({Lock.LOGS:d}, 0)")
        with pytest.raises(Unavailable):
            await plane.commit_objects([held])
        (bounds,) = await plane.offset_bounds([partition])
        assert bounds.high_watermark == 0
    ((result,),) = await plane.commit_objects([held])
    assert list(result.base_offsets) == [0]
    await plane.close()


async def test_process_that_stops_in_a_transaction_holds_the_others_up_only_for_a_time(url: str) -> None:
    stopped, living = await open_plane(url, idle_in_transaction_ms=50), await open_plane(url)
    partition = await one_partition(living)
    async with stopped._pools[0].connection() as connection:
        await connection.execute(f"BEGIN; SELECT pg_advisory_xact_lock({Lock.LOGS:d}, 0)")
        ((result,),) = await living.commit_objects([object_of({partition: [plain()]})])
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
            await connection.execute("COMMIT")
    assert list(result.base_offsets) == [0]
    await stopped.close()
    await living.close()


async def test_two_control_planes_give_dense_and_unique_offsets(url: str) -> None:
    planes = [await open_plane(url), await open_plane(url)]
    topic = await planes[0].create_topic(new_topic("events", 2))
    partitions = [PartitionId(topic.shard, topic.topic_id, index) for index in range(2)]

    async def commit_some(plane: PostgresControlPlane) -> list[list[int]]:
        found = []
        for _ in range(25):
            (runs,) = await plane.commit_objects([object_of({each: [plain(3)] for each in partitions})])
            found.append([run.base_offsets[0] for run in runs])
        return found

    answers = await asyncio.gather(*(commit_some(plane) for plane in planes for _ in range(4)))
    for number in range(2):
        offsets = sorted(pair[number] for answer in answers for pair in answer)
        assert offsets == list(range(0, 8 * 25 * 3, 3))
    for plane in planes:
        await plane.close()


async def test_database_is_restarted_and_nothing_is_lost_or_committed_twice() -> None:
    with running_postgres() as server, server.fresh_database() as url:
        plane = await open_plane(url)
        partition = await one_partition(plane)
        first, second = object_of({partition: [sequenced(0)]}), object_of({partition: [sequenced(1)]})
        answers = await plane.commit_objects([first])
        await asyncio.to_thread(server.stop)
        for _ in range(3):
            for call in (
                plane.commit_objects([second]),
                plane.find_batches([FindRequest(partition, 0, 1)], bytes_max=1),
                plane.load_topics(),
                plane.claim_group("g", broker_id=1, incarnation=b"1"),
            ):
                with pytest.raises(Unavailable):
                    await call
        await asyncio.to_thread(server.start)
        assert await plane.commit_objects([first]) == answers
        ((result,),) = await plane.commit_objects([second])
        assert list(result.base_offsets) == [1]
        (found,) = await plane.find_batches([FindRequest(partition, 0, PLENTY)], bytes_max=PLENTY)
        assert [each.base_offset for each in found.coordinates] == [0, 1]
        await plane.close()


async def test_schema_is_made_once_by_many_who_open_at_the_same_time(
    postgres_server: PostgresServer,
) -> None:
    await asyncio.to_thread(postgres_server.execute, "CREATE DATABASE empty_at_first")
    url = postgres_server.url("empty_at_first")
    planes = await asyncio.gather(*(open_plane(url) for _ in range(4)))
    assert len({await plane.cluster_id() for plane in planes}) == 1
    database = await asyncpg.connect(url)
    names = [row[0] for row in await database.fetch("SELECT name FROM schema_migrations ORDER BY number")]
    assert names == [migration.name for migration in load_migrations("inkless.coordinator.postgres")]
    await database.close()
    for plane in planes:
        await plane.close()
    await asyncio.to_thread(postgres_server.execute, "DROP DATABASE empty_at_first WITH (FORCE)")


async def test_newer_schema_is_lived_with_unless_it_says_otherwise(
    url: str, database: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await database.execute("INSERT INTO schema_migrations VALUES (9999, '9999_add_something.sql')")
    plane = await open_plane(url)
    assert await plane.load_topics() == []
    await plane.close()
    await database.execute("UPDATE schema_needs SET oldest_program = 9999")
    with pytest.raises(ConfigurationError, match="9999"):
        await open_plane(url)


async def test_commits_of_others_are_told_and_own_ones_are_not(url: str, plane: PostgresControlPlane) -> None:
    topic = await plane.create_topic(new_topic("events", 500))
    partitions = [PartitionId(topic.shard, topic.topic_id, index) for index in range(500)]
    heard: asyncio.Queue[Sequence[PartitionId] | None] = asyncio.Queue()
    other = await open_plane(url)
    other.subscribe_commits(heard.put_nowait)
    # From now on it listens.
    assert await heard.get() is None
    await other.commit_objects([object_of({partitions[7]: [plain()]})])
    await plane.commit_objects([object_of({each: [plain()] for each in partitions[3:5]})])
    assert await heard.get() == partitions[3:5]
    await plane.commit_objects([object_of({partition: [plain()] for partition in partitions})])
    told = await heard.get()
    assert told is None or sorted(told) == partitions
    await other.close()


async def test_listener_that_was_cut_off_listens_again_and_says_so(
    url: str, plane: PostgresControlPlane, database: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    partition = await one_partition(plane)
    heard: asyncio.Queue[Sequence[PartitionId] | None] = asyncio.Queue()
    other = await open_plane(url, listen_retry_ms=1)
    other.subscribe_commits(heard.put_nowait)
    assert await heard.get() is None
    await database.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND query ILIKE 'LISTEN%'"
    )
    assert await heard.get() is None
    await plane.commit_objects([object_of({partition: [plain()]})])
    assert await heard.get() == [partition]
    await other.close()


async def test_long_deletion_is_cut_into_steps_and_finished_by_the_next_who_opens(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane = await open_plane(url, trim_runs_max=3)
    partition = await one_partition(plane)
    await plane.commit_objects([object_of({partition: [plain()]}) for _ in range(20)])
    monkeypatch.setattr(plane, "_forget_in_background", lambda: None)
    (result,) = await plane.delete_records([DeleteRecordsRequest(partition, 20)])
    assert result.log_start_offset == 20
    unreferenced = await plane.unreferenced_objects(since_before_ms=1 << 60, count_max=100)
    assert len(unreferenced) == 3
    await plane.close()
    plane = await open_plane(url, trim_runs_max=3)
    await asyncio.gather(*plane._forgetting._tasks)
    unreferenced = await plane.unreferenced_objects(since_before_ms=1 << 60, count_max=100)
    assert len(unreferenced) == 20
    await plane.close()


async def test_deleted_topic_leaves_no_rows(
    plane: PostgresControlPlane, database: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    partition = await one_partition(plane)
    await plane.commit_objects([object_of({partition: [sequenced(0), plain()]})])
    await plane.delete_topic(partition.topic_id)
    await asyncio.gather(*plane._forgetting._tasks)
    for table in ("topics", "partitions", "logs", "runs", "producers", "pending_trims"):
        assert (table, await database.fetchval(f"SELECT count(*) FROM {table}")) == (table, 0)


async def test_byte_length_of_a_log_follows_commits_and_deletions(
    plane: PostgresControlPlane, database: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    partition = await one_partition(plane)
    await plane.commit_objects(
        [object_of({partition: [plain(1, size), plain(1, 5)]}) for size in (10, 20, 30)]
    )
    await plane.delete_records([DeleteRecordsRequest(partition, 3)])
    assert await database.fetchval("SELECT byte_length FROM logs") == 20 + 5 + 30 + 5


@pytest.mark.parametrize("meanwhile", ["commit", "deletion"])
async def test_long_answer_ends_where_what_happens_meanwhile_begins(
    plane: PostgresControlPlane, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    partition = await one_partition(plane)
    await plane.commit_objects([object_of({partition: [plain()]}) for _ in range(100)])
    find = plane._finder._find
    finds = 0

    async def find_while_others_work(*arguments: Any, **options: Any) -> list[Any]:
        nonlocal finds
        finds += 1
        if finds == 2 and meanwhile == "commit":
            await plane.commit_objects([object_of({partition: [plain(7)]})])
        elif finds == 2:
            await plane.delete_records([DeleteRecordsRequest(partition, 90)])
        return await find(*arguments, **options)

    monkeypatch.setattr(plane._finder, "_find", find_while_others_work)
    (found,) = await plane.find_batches([FindRequest(partition, 0, PLENTY)], bytes_max=PLENTY)
    assert finds == 2
    assert (found.log_start_offset, found.high_watermark) == (0, 100)
    offsets = [each.base_offset for each in found.coordinates]
    assert offsets == list(range(100 if meanwhile == "commit" else len(offsets)))
    assert 0 < len(offsets) <= 100


async def test_listener_asks_whether_its_connection_lives(url: str, plane: PostgresControlPlane) -> None:
    partition = await one_partition(plane)
    heard: asyncio.Queue[Sequence[PartitionId] | None] = asyncio.Queue()
    other = await open_plane(url, listen_check_ms=1)
    other.subscribe_commits(heard.put_nowait)
    assert await heard.get() is None
    for _ in range(20):
        await plane.commit_objects([object_of({partition: [plain()]})])
        assert await heard.get() == [partition]
    await other.close()


async def test_closed_control_plane_is_unavailable(url: str) -> None:
    plane = await open_plane(url)
    await plane.close()
    await plane.close()
    for call in (plane.cluster_id(), plane.allocate_producer_ids(1), plane.commit_objects([])):
        with pytest.raises(Unavailable):
            await call


async def test_database_that_is_not_there_is_unavailable(postgres_server: PostgresServer) -> None:
    for url in (postgres_server.url("unheard_of"), "postgresql://inkless@127.0.0.1:1/x"):
        with pytest.raises(Unavailable):
            await open_plane(url)


async def test_url_that_nobody_understands_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match=r"inkless\.control\.plane\.url"):
        await open_plane("postgresql://inkless@127.0.0.1:1/x?sslmode=perhaps")


def test_missing_driver_is_a_configuration_error_that_names_the_package() -> None:
    script = """
import asyncio, sys
sys.modules["asyncpg"] = None
from inkless.clock import SystemClock, SystemEntropy
from inkless.coordinator.open import open_control_plane
from inkless.errors import ConfigurationError
try:
    asyncio.run(open_control_plane("postgresql://h/d", clock=SystemClock(), entropy=SystemEntropy()))
except ConfigurationError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert "pip install inkless[postgres]" in done.stdout


async def test_a_database_that_cannot_be_reached_is_named_without_its_password() -> None:
    url = "postgresql://user:secret@127.0.0.1:1/nowhere"
    with pytest.raises(Unavailable) as raised:
        await open_control_plane(url, clock=SystemClock(), entropy=SystemEntropy(), deadline_ms=2_000)
    assert "inkless.control.plane.url: the database at 127.0.0.1:1/nowhere" in str(raised.value)
    assert "secret" not in str(raised.value)

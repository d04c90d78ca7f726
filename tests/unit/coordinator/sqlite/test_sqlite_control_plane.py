"""What is special to the SQLite backend: grouping, faults, unfinished deletions, the file itself."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inkless.clock import SystemEntropy
from inkless.coordinator.sqlite.control_plane import SqliteControlPlane
from inkless.coordinator.sqlite.settings import SqliteSettings
from inkless.coordinator.types import DeleteRecordsRequest, PartitionId
from inkless.errors import InvariantViolated, Unavailable
from support.coordinator_commits import HandClock, new_topic, object_of, plain, sequenced


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "control-plane.db"


async def open_plane(file: Path, **settings: int) -> SqliteControlPlane:
    return await SqliteControlPlane.open(
        SqliteSettings(file, **settings), clock=HandClock(), entropy=SystemEntropy()
    )


@pytest.fixture
async def plane(file: Path) -> AsyncIterator[SqliteControlPlane]:
    opened = await open_plane(file)
    yield opened
    await opened.close()


async def one_partition(plane: SqliteControlPlane) -> PartitionId:
    topic = await plane.create_topic(new_topic("events"))
    return PartitionId(topic.shard, topic.topic_id, 0)


async def test_waiting_commits_share_a_transaction(plane: SqliteControlPlane) -> None:
    partition = await one_partition(plane)
    statements: list[str] = []
    plane._writer._connection.set_trace_callback(statements.append)
    await asyncio.gather(*(plane.commit_objects([object_of({partition: [plain()]})]) for _ in range(100)))
    assert statements.count("COMMIT") <= 50


async def test_commit_takes_few_statements_however_many_runs_it_has(plane: SqliteControlPlane) -> None:
    topic = await plane.create_topic(new_topic("events", 256))
    partitions = [PartitionId(topic.shard, topic.topic_id, index) for index in range(256)]
    await plane.commit_objects([object_of({partition: [plain()] for partition in partitions})])
    statements: list[str] = []
    plane._writer._connection.set_trace_callback(statements.append)
    await plane.commit_objects([object_of({partition: [plain()] for partition in partitions})])
    assert len(statements) <= 12


async def test_commit_that_cannot_be_stored_does_not_fail_its_group(plane: SqliteControlPlane) -> None:
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


async def test_faults_of_sqlite_are_unavailable_and_leave_nothing_remembered(
    plane: SqliteControlPlane, file: Path
) -> None:
    partition = await one_partition(plane)
    await plane.commit_objects([object_of({partition: [sequenced(0)]})])
    fault = sqlite3.connect(file)
    fault.execute(
        "CREATE TRIGGER fault BEFORE INSERT ON producers BEGIN SELECT RAISE(ABORT, 'injected fault'); END"
    )
    failed = object_of({partition: [sequenced(1)]})
    with pytest.raises(Unavailable, match="injected fault") as raised:
        await plane.commit_objects([failed])
    assert isinstance(raised.value.__cause__, sqlite3.Error)
    fault.execute("DROP TRIGGER fault")
    fault.close()
    ((result,),) = await plane.commit_objects([failed])
    assert (list(result.base_offsets), result.duplicates) == ([1], frozenset())


async def test_reads_of_a_broken_file_are_unavailable(plane: SqliteControlPlane, file: Path) -> None:
    fault = sqlite3.connect(file)
    fault.execute("ALTER TABLE topics RENAME TO gone")
    with pytest.raises(Unavailable):
        await plane.load_topics()
    fault.execute("ALTER TABLE gone RENAME TO topics")
    fault.close()
    assert await plane.load_topics() == []


async def test_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to look like one" * 100)
    with pytest.raises(Unavailable):
        await open_plane(tmp_path / "text")
    with pytest.raises(Unavailable):
        await open_plane(tmp_path / "text" / "inside.db")


async def test_database_locked_by_another_is_unavailable_within_the_time(file: Path) -> None:
    plane = await open_plane(file, busy_timeout_ms=20)
    partition = await one_partition(plane)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="locked"):
        await plane.commit_objects([object_of({partition: [plain()]})])
    (bounds,) = await plane.offset_bounds([partition])
    assert bounds.high_watermark == 0
    other.close()
    await plane.close()


async def test_closed_control_plane_is_unavailable(file: Path) -> None:
    plane = await open_plane(file)
    await plane.close()
    await plane.close()
    with pytest.raises(Unavailable):
        await plane.cluster_id()
    with pytest.raises(Unavailable):
        await plane.allocate_producer_ids(1)


async def test_everything_outlives_the_process(file: Path) -> None:
    plane = await open_plane(file)
    partition = await one_partition(plane)
    await plane.commit_objects([object_of({partition: [sequenced(0)]})])
    cluster_id, topics = await plane.cluster_id(), await plane.load_topics()
    producer_id = await plane.allocate_producer_ids(5)
    await plane.close()
    plane = await open_plane(file)
    assert (await plane.cluster_id(), await plane.load_topics()) == (cluster_id, topics)
    assert await plane.allocate_producer_ids(1) == producer_id + 5
    ((result,),) = await plane.commit_objects([object_of({partition: [sequenced(0), sequenced(1)]})])
    assert (list(result.base_offsets), result.duplicates) == ([0, 1], frozenset({0}))
    await plane.close()


async def test_long_deletion_is_cut_into_steps_and_finished_after_a_restart(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane = await open_plane(file, trim_runs_max=3)
    partition = await one_partition(plane)
    await plane.commit_objects([object_of({partition: [plain()]}) for _ in range(20)])
    monkeypatch.setattr(plane, "_trim_in_background", lambda: None)
    (result,) = await plane.delete_records([DeleteRecordsRequest(partition, 20)])
    assert result.log_start_offset == 20
    unreferenced = await plane.unreferenced_objects(since_before_ms=1 << 60, count_max=100)
    assert len(unreferenced) == 3
    await plane.close()
    plane = await open_plane(file, trim_runs_max=3)
    await asyncio.gather(*plane._trims._tasks)
    unreferenced = await plane.unreferenced_objects(since_before_ms=1 << 60, count_max=100)
    assert len(unreferenced) == 20
    assert plane._writer._connection.execute("SELECT count(*) FROM pending_trims").fetchone() == (0,)
    await plane.close()


async def test_deleted_topic_leaves_no_rows(plane: SqliteControlPlane) -> None:
    partition = await one_partition(plane)
    await plane.commit_objects([object_of({partition: [sequenced(0), plain()]})])
    await plane.delete_topic(partition.topic_id)
    await asyncio.gather(*plane._trims._tasks)
    for table in ("topics", "partitions", "logs", "runs", "producers", "pending_trims"):
        count = plane._writer._connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        assert (table, *count) == (table, 0)


async def test_byte_length_of_a_log_follows_commits_and_deletions(plane: SqliteControlPlane) -> None:
    partition = await one_partition(plane)
    await plane.commit_objects(
        [object_of({partition: [plain(1, size), plain(1, 5)]}) for size in (10, 20, 30)]
    )
    await plane.delete_records([DeleteRecordsRequest(partition, 3)])
    (length,) = plane._writer._connection.execute("SELECT byte_length FROM logs").fetchone()
    assert length == 20 + 5 + 30 + 5

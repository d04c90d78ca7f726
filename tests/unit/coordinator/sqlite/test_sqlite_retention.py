"""What is special to retention in SQLite: runs that wait to be forgotten, and how much one call looks at."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inkless.clock import SystemEntropy
from inkless.coordinator.sqlite.control_plane import SqliteControlPlane
from inkless.coordinator.sqlite.settings import SqliteSettings
from inkless.coordinator.types import DeleteRecordsRequest, PartitionId, RetentionLimit
from support.coordinator_commits import HandClock, new_topic, object_of, plain

NO_LIMIT = -1


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[SqliteControlPlane]:
    settings = SqliteSettings(tmp_path / "a.db", trim_runs_max=2, retention_runs_max=6)
    plane = await SqliteControlPlane.open(settings, clock=HandClock(), entropy=SystemEntropy())
    yield plane
    await plane.close()


async def logs_of(plane: SqliteControlPlane, *, runs: int, partitions: int = 1) -> list[PartitionId]:
    topic = await plane.create_topic(new_topic("events", partitions))
    logs = [PartitionId(topic.shard, topic.topic_id, index) for index in range(partitions)]
    await plane.commit_objects([object_of({log: [plain(1, 100, 5)] for log in logs}) for _ in range(runs)])
    return logs


async def retain(plane: SqliteControlPlane, *limits: RetentionLimit) -> list[int]:
    return [result.log_start_offset for result in await plane.apply_retention(limits)]


async def test_runs_that_wait_to_be_forgotten_do_not_make_a_log_look_large(
    plane: SqliteControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    (log,) = await logs_of(plane, runs=10)
    with monkeypatch.context() as patched:
        patched.setattr(plane, "_trim_in_background", lambda: None)
        await plane.delete_records([DeleteRecordsRequest(log, 8)])
        assert await retain(plane, RetentionLimit(log, NO_LIMIT, 200)) == [8]
    assert await retain(plane, RetentionLimit(log, NO_LIMIT, 200)) == [8]
    await asyncio.gather(*plane._trims._tasks)
    assert plane._writer._connection.execute("SELECT count(*) FROM pending_trims").fetchone() == (0,)
    assert await retain(plane, RetentionLimit(log, NO_LIMIT, 100)) == [9]


async def test_time_counts_while_runs_wait_to_be_forgotten(
    plane: SqliteControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    (log,) = await logs_of(plane, runs=10)
    monkeypatch.setattr(plane, "_trim_in_background", lambda: None)
    await plane.delete_records([DeleteRecordsRequest(log, 8)])
    assert await retain(plane, RetentionLimit(log, 6, 0)) == [10]


async def test_a_call_looks_at_so_many_runs_and_shares_them_among_the_partitions(
    plane: SqliteControlPlane,
) -> None:
    logs = await logs_of(plane, runs=7, partitions=3)
    limits = [RetentionLimit(log, 6, NO_LIMIT) for log in logs]
    assert [await retain(plane, *limits) for _ in range(4)] == [[2] * 3, [4] * 3, [6] * 3, [7] * 3]


async def test_every_partition_gets_on_however_many_are_asked_for(plane: SqliteControlPlane) -> None:
    logs = await logs_of(plane, runs=1, partitions=20)
    assert await retain(plane, *(RetentionLimit(log, 6, NO_LIMIT) for log in logs)) == [1] * 20

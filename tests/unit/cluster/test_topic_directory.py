"""The directory follows the cluster metadata and costs one question when nothing has changed."""

from pathlib import Path

import pytest

from inkless.cluster.topic_changes import WantedTopic
from inkless.errors import Unavailable
from support.cluster_parts import cluster_parts


async def test_a_refresh_brings_what_other_brokers_changed(tmp_path: Path) -> None:
    async with (
        cluster_parts(tmp_path) as ours,
        cluster_parts(tmp_path, overrides={"node.id": "1"}) as theirs,
    ):
        kept = await theirs.topic_changes.create(WantedTopic(name="kept"))
        dropped = await theirs.topic_changes.create(WantedTopic(name="dropped"))
        assert await ours.directory.refresh()
        assert {entry.topic.name for entry in ours.directory.all()} == {"kept", "dropped"}
        await theirs.topic_changes.delete(dropped)
        grown = await theirs.topic_changes.add_partitions(kept, 3)
        assert await ours.directory.refresh()
        assert [entry.topic for entry in ours.directory.all()] == [grown.topic]
        assert ours.directory.by_id(dropped.topic.topic_id) is None


async def test_a_refresh_without_change_loads_nothing(tmp_path: Path) -> None:
    async with cluster_parts(tmp_path) as parts:
        await parts.topic_changes.create(WantedTopic(name="orders"))
        await parts.directory.refresh()
        parts.link.calls.clear()
        assert not await parts.directory.refresh()
        assert parts.link.calls == ["metadata_version"]


async def test_a_renewed_lease_is_no_change(tmp_path: Path) -> None:
    async with cluster_parts(tmp_path) as parts:
        await parts.directory.refresh()
        await parts.control_plane.register_broker(parts.membership.registration, lease_ms=600_000)
        assert not await parts.directory.refresh()


async def test_what_is_known_stays_when_the_database_does_not_answer(tmp_path: Path) -> None:
    async with cluster_parts(tmp_path) as parts:
        entry = await parts.topic_changes.create(WantedTopic(name="orders"))
        parts.link.is_down = True
        with pytest.raises(Unavailable):
            await parts.directory.refresh()
        assert parts.directory.by_name("orders") is entry


async def test_a_partition_beyond_the_last_is_none(tmp_path: Path) -> None:
    async with cluster_parts(tmp_path) as parts:
        entry = await parts.topic_changes.create(WantedTopic(name="orders", partition_count=2))
        assert entry.partition(1) == entry.partitions[1]
        assert entry.partition(2) is None
        assert entry.partition(-1) is None

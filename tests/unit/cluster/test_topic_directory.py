"""The directory follows the cluster metadata and costs one question when nothing has changed."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from inkless.cluster.directory import TopicDirectory
from inkless.cluster.topic_changes import WantedTopic
from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.types import NewTopic, Topic, TopicId
from inkless.errors import Unavailable
from support.cluster_parts import ClusterParts, cluster_parts


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[ClusterParts]:
    async with cluster_parts(tmp_path) as opened:
        yield opened


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


class LoadsWhile:
    """A control plane during whose load something else happens once."""

    def __init__(self, control_plane: ControlPlane, happens: Callable[[], Awaitable[object]]) -> None:
        self._control_plane = control_plane
        self._happens: Callable[[], Awaitable[object]] | None = happens

    async def load_topics(self) -> list[Topic]:
        topics = await self._control_plane.load_topics()
        if self._happens is not None:
            happens, self._happens = self._happens, None
            await happens()
        return topics

    def __getattr__(self, name: str) -> object:
        return getattr(self._control_plane, name)


async def test_a_topic_created_during_a_refresh_is_not_lost(parts: ClusterParts) -> None:
    new = NewTopic(TopicId(bytes(15) + b"\x07"), "meanwhile", [[1]])

    async def create_and_put() -> None:
        directory.put(await parts.control_plane.create_topic(new))

    source = LoadsWhile(parts.control_plane, create_and_put)
    directory = TopicDirectory(source, parts.settings.topics)  # type: ignore[arg-type]  # passes the rest on
    assert await directory.refresh()
    assert directory.by_name("meanwhile") is not None


async def test_topics_are_listed_by_name_whatever_the_order_of_their_creation(parts: ClusterParts) -> None:
    for place, name in enumerate(["b", "a", "c"]):
        parts.directory.put(
            await parts.control_plane.create_topic(NewTopic(TopicId(bytes([place]) * 16), name, [[1]]))
        )
    assert [entry.topic.name for entry in parts.directory.all()] == ["a", "b", "c"]

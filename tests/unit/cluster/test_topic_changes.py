"""What makes a topic, what refuses it, and what this broker and the others see afterwards."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from inkless.cluster.directory import TopicEntry
from inkless.cluster.topic_changes import WantedTopic
from inkless.errors import RequestError, Unavailable
from inkless.protocol.error_codes import ErrorCode
from support.cluster_parts import ClusterParts, a_broker, cluster_parts

LIMITS = {"num.partitions": "3", "inkless.topic.max.partitions": "8", "inkless.topics.max": "4"}


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[ClusterParts]:
    async with cluster_parts(tmp_path, overrides=LIMITS) as made:
        yield made


async def create(parts: ClusterParts, name: str, **wishes: Any) -> TopicEntry:
    return await parts.topic_changes.create(WantedTopic(name=name, **wishes))


async def refusal(parts: ClusterParts, name: str, **wishes: Any) -> RequestError:
    with pytest.raises(RequestError) as refused:
        await create(parts, name, **wishes)
    assert [entry.topic.name for entry in parts.directory.all() if entry.topic.name == name] == []
    return refused.value


async def test_a_created_topic_is_in_the_directory_at_once(parts: ClusterParts) -> None:
    entry = await create(parts, "orders", partition_count=2, configs={"retention.ms": "1000"})
    assert parts.directory.by_name("orders") is entry
    assert parts.directory.by_id(entry.topic.topic_id) is entry
    assert len(entry.partitions) == 2
    assert entry.configs.retention_ms == 1000


async def test_a_created_topic_is_stored(parts: ClusterParts) -> None:
    entry = await create(parts, "orders", partition_count=2, configs={"retention.ms": "1000"})
    (stored,) = await parts.control_plane.load_topics()
    assert stored == entry.topic


async def test_the_default_partition_count_is_the_brokers(parts: ClusterParts) -> None:
    assert (await create(parts, "orders")).topic.partition_count == 3


@pytest.mark.parametrize("count", [0, -2, 9])
async def test_a_partition_count_out_of_bounds_is_refused(parts: ClusterParts, count: int) -> None:
    assert (await refusal(parts, "orders", partition_count=count)).code is ErrorCode.INVALID_PARTITIONS


@pytest.mark.parametrize("factor", [-1, 1])
async def test_replication_factors_that_leave_it_to_the_cluster_are_accepted(
    parts: ClusterParts, factor: int
) -> None:
    entry = await create(parts, "orders", replication_factor=factor)
    assert entry.topic.replicas == [[0], [0], [0]]


@pytest.mark.parametrize("factor", [-2, 0, 2, 3])
async def test_other_replication_factors_are_refused_with_advice(parts: ClusterParts, factor: int) -> None:
    error = await refusal(parts, "orders", replication_factor=factor)
    assert error.code is ErrorCode.INVALID_REPLICATION_FACTOR
    assert "Use -1 or 1" in str(error)


async def test_a_manual_assignment_is_refused(parts: ClusterParts) -> None:
    error = await refusal(parts, "orders", has_assignments=True)
    assert error.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT


async def test_a_topic_has_a_replica_in_every_rack(parts: ClusterParts) -> None:
    await parts.add_brokers(a_broker(1, rack="a"), a_broker(2, rack="b"), a_broker(3, rack="b"))
    entry = await create(parts, "orders", partition_count=4)
    for replicas in entry.topic.replicas:
        assert len(replicas) == 3
        assert {0, 1} < set(replicas)


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "ä", "x" * 250])
async def test_illegal_names_are_refused(parts: ClusterParts, name: str) -> None:
    assert (await refusal(parts, name)).code is ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("other", ["a.b_c", "a_b_c", "a.b.c"])
async def test_names_that_differ_only_in_dot_and_underscore_collide(parts: ClusterParts, other: str) -> None:
    await create(parts, "a_b.c")
    assert (await refusal(parts, other)).code is ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_an_existing_topic_is_not_made_again(parts: ClusterParts) -> None:
    entry = await create(parts, "orders")
    with pytest.raises(RequestError) as refused:
        await create(parts, "orders", partition_count=1)
    assert refused.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert parts.directory.by_name("orders") is entry


@pytest.mark.parametrize(
    "configs", [{"retention.ms": "soon"}, {"retention.ms": None}, {"no.such.config": "1"}]
)
async def test_bad_configs_are_refused(parts: ClusterParts, configs: dict[str, str | None]) -> None:
    assert (await refusal(parts, "orders", configs=configs)).code is ErrorCode.INVALID_CONFIG


async def test_there_are_never_more_topics_than_allowed(parts: ClusterParts) -> None:
    for index in range(4):
        await create(parts, f"topic-{index}")
    assert (await refusal(parts, "one-more")).code is ErrorCode.POLICY_VIOLATION


async def test_a_plan_changes_nothing(parts: ClusterParts) -> None:
    planned = parts.topic_changes.plan(WantedTopic(name="orders", partition_count=2))
    assert planned.replicas == [[0], [0]]
    assert await parts.control_plane.load_topics() == []
    assert len(parts.directory) == 0


async def test_a_topic_is_not_in_the_directory_when_the_database_did_not_answer(parts: ClusterParts) -> None:
    parts.link.is_down = True
    with pytest.raises(Unavailable):
        await create(parts, "orders")
    assert parts.directory.by_name("orders") is None


async def test_automatic_creation_finds_what_another_broker_made(tmp_path: Path) -> None:
    async with (
        cluster_parts(tmp_path) as ours,
        cluster_parts(tmp_path, overrides={"node.id": "1"}) as theirs,
    ):
        made = await create(theirs, "orders", partition_count=7)
        found = await ours.topic_changes.create_automatically("orders")
    assert found.topic == made.topic


async def test_many_automatic_creations_at_once_make_one_topic(tmp_path: Path) -> None:
    async with (
        cluster_parts(tmp_path) as ours,
        cluster_parts(tmp_path, overrides={"node.id": "1"}) as theirs,
    ):
        entries = await asyncio.gather(
            *(each.topic_changes.create_automatically("orders") for each in [ours, theirs] * 5)
        )
        stored = await ours.control_plane.load_topics()
    assert {entry.topic.topic_id for entry in entries} == {topic.topic_id for topic in stored}
    assert len(stored) == 1


async def test_automatic_creation_refuses_illegal_names(parts: ClusterParts) -> None:
    with pytest.raises(RequestError) as refused:
        await parts.topic_changes.create_automatically("a b")
    assert refused.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_a_deleted_topic_is_gone_at_once(parts: ClusterParts) -> None:
    entry = await create(parts, "orders")
    await parts.topic_changes.delete(entry)
    assert parts.directory.by_name("orders") is None
    assert parts.directory.by_id(entry.topic.topic_id) is None
    assert await parts.control_plane.load_topics() == []


async def test_a_topic_deleted_elsewhere_leaves_the_directory_too(parts: ClusterParts) -> None:
    entry = await create(parts, "orders")
    await parts.control_plane.delete_topic(entry.topic.topic_id)
    with pytest.raises(RequestError) as refused:
        await parts.topic_changes.delete(entry)
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_ID
    assert parts.directory.by_name("orders") is None


async def test_a_name_can_be_used_again_after_deletion(parts: ClusterParts) -> None:
    first = await create(parts, "orders")
    await parts.topic_changes.delete(first)
    second = await create(parts, "orders")
    assert second.topic.topic_id != first.topic.topic_id
    assert parts.directory.by_name("orders") is second


async def test_deletion_can_be_forbidden(tmp_path: Path) -> None:
    async with cluster_parts(tmp_path, overrides={"delete.topic.enable": "false"}) as parts:
        entry = await create(parts, "orders")
        with pytest.raises(RequestError) as refused:
            await parts.topic_changes.delete(entry)
        assert refused.value.code is ErrorCode.TOPIC_DELETION_DISABLED
        assert parts.directory.by_name("orders") is entry


async def test_partitions_are_added_behind_the_old_ones(parts: ClusterParts) -> None:
    entry = await create(parts, "orders", partition_count=2)
    grown = await parts.topic_changes.add_partitions(entry, 5)
    assert grown.topic.partition_count == 5
    assert grown.partitions[:2] == entry.partitions
    assert parts.directory.by_name("orders") is grown


@pytest.mark.parametrize("total", [0, 1, 2, 9])
async def test_partitions_cannot_shrink_or_pass_the_limit(parts: ClusterParts, total: int) -> None:
    entry = await create(parts, "orders", partition_count=2)
    with pytest.raises(RequestError) as refused:
        await parts.topic_changes.add_partitions(entry, total)
    assert refused.value.code is ErrorCode.INVALID_PARTITIONS
    assert parts.directory.by_name("orders") is entry


async def test_partitions_are_not_added_twice_from_an_old_view(parts: ClusterParts) -> None:
    entry = await create(parts, "orders", partition_count=2)
    await parts.topic_changes.add_partitions(entry, 5)
    with pytest.raises(RequestError) as refused:
        await parts.topic_changes.add_partitions(entry, 4)
    assert refused.value.code is ErrorCode.INVALID_PARTITIONS
    (stored,) = await parts.control_plane.load_topics()
    assert stored.partition_count == 5


async def test_a_trial_of_adding_partitions_adds_none(parts: ClusterParts) -> None:
    entry = await create(parts, "orders", partition_count=2)
    await parts.topic_changes.add_partitions(entry, 5, validate_only=True)
    (stored,) = await parts.control_plane.load_topics()
    assert stored.partition_count == 2


async def test_configs_are_set_and_removed_together(parts: ClusterParts) -> None:
    entry = await create(parts, "orders", configs={"retention.ms": "1000", "retention.bytes": "5"})
    altered = await parts.topic_changes.alter_configs(
        entry, {"retention.ms": None, "max.message.bytes": "77"}
    )
    assert altered.topic.configs == {"retention.bytes": "5", "max.message.bytes": "77"}
    assert altered.rules.max_message_bytes == 77
    assert parts.directory.by_name("orders") is altered


async def test_one_bad_config_changes_none(parts: ClusterParts) -> None:
    entry = await create(parts, "orders")
    with pytest.raises(RequestError) as refused:
        await parts.topic_changes.alter_configs(entry, {"retention.bytes": "5", "retention.ms": "soon"})
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    (stored,) = await parts.control_plane.load_topics()
    assert stored.configs == {}


async def test_removing_what_is_not_set_is_no_error(parts: ClusterParts) -> None:
    entry = await create(parts, "orders")
    altered = await parts.topic_changes.alter_configs(entry, {"retention.ms": None})
    assert altered.topic.configs == {}

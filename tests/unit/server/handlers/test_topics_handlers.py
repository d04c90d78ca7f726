"""CreateTopics, DeleteTopics and CreatePartitions, as clients of every version see them."""

from pathlib import Path

import pytest

from inkless.cluster.topic_changes import WantedTopic
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from inkless.protocol.wire_types import NO_UUID
from support.cluster_parts import a_broker, cluster_parts
from support.handler_broker import HandlerBroker, handler_broker


def asked(name: str, count: int = 1, factor: int = -1, **configs: str) -> CreatableTopic:
    pairs = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()]
    return CreatableTopic(name=name, num_partitions=count, replication_factor=factor, configs=pairs)


@pytest.mark.parametrize("version", range(8))
async def test_create_topics_answers_in_every_version(broker: HandlerBroker, version: int) -> None:
    response = await broker.ask(CreateTopicsRequest(topics=[asked("orders", 2)]), version=version)
    (result,) = response.topics
    assert (result.name, result.error_code) == ("orders", ErrorCode.NONE)
    entry = broker.context.directory.by_name("orders")
    assert entry is not None
    assert entry.topic.partition_count == 2


async def test_a_created_topic_is_described_in_the_response(broker: HandlerBroker) -> None:
    await broker.parts.add_brokers(a_broker(1, rack="a"), a_broker(2, rack="b"))
    request = CreateTopicsRequest(topics=[asked("orders", -1, retention_ms="1000")])
    (result,) = (await broker.ask(request)).topics
    entry = broker.context.directory.by_name("orders")
    assert entry is not None
    assert result.topic_id == entry.topic.topic_id
    assert result.num_partitions == 1
    assert result.replication_factor == 3
    configs = {config.name: (config.value, config.config_source) for config in result.configs}
    assert configs["retention.ms"] == ("1000", 1)
    assert configs["cleanup.policy"] == ("delete", 5)


async def test_a_trial_creates_nothing(broker: HandlerBroker) -> None:
    response = await broker.ask(CreateTopicsRequest(topics=[asked("orders", 2)], validate_only=True))
    (result,) = response.topics
    assert (result.error_code, result.num_partitions, result.topic_id) == (ErrorCode.NONE, 2, NO_UUID)
    assert await broker.parts.control_plane.load_topics() == []


async def test_a_bad_topic_does_not_stop_the_others(broker: HandlerBroker) -> None:
    request = CreateTopicsRequest(topics=[asked("a"), asked("b", 0), asked("c", factor=3), asked("d")])
    results = (await broker.ask(request)).topics
    assert [(each.name, each.error_code) for each in results] == [
        ("a", ErrorCode.NONE),
        ("b", ErrorCode.INVALID_PARTITIONS),
        ("c", ErrorCode.INVALID_REPLICATION_FACTOR),
        ("d", ErrorCode.NONE),
    ]
    assert "Use -1 or 1" in results[2].error_message
    assert [topic.name for topic in await broker.parts.control_plane.load_topics()] == ["a", "d"]


async def test_a_topic_named_twice_is_refused_once_and_not_created(broker: HandlerBroker) -> None:
    request = CreateTopicsRequest(topics=[asked("a"), asked("b"), asked("a", 2)])
    results = (await broker.ask(request)).topics
    assert [(each.name, each.error_code) for each in results] == [
        ("a", ErrorCode.INVALID_REQUEST),
        ("b", ErrorCode.NONE),
    ]
    assert broker.context.directory.by_name("a") is None


async def test_an_assignment_by_hand_is_refused(broker: HandlerBroker) -> None:
    topic = CreatableTopic(
        name="orders",
        num_partitions=-1,
        replication_factor=-1,
        assignments=[CreatableReplicaAssignment(0, [0])],
    )
    (result,) = (await broker.ask(CreateTopicsRequest(topics=[topic]))).topics
    assert result.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


async def test_a_topic_that_another_broker_made_exists_already(tmp_path: Path) -> None:
    async with (
        handler_broker(tmp_path) as ours,
        cluster_parts(tmp_path, overrides={"node.id": "1"}) as theirs,
    ):
        await theirs.topic_changes.create(WantedTopic(name="a_b"))
        request = CreateTopicsRequest(topics=[asked("a_b"), asked("a.b")])
        results = (await ours.ask(request)).topics
    assert [each.error_code for each in results] == [
        ErrorCode.TOPIC_ALREADY_EXISTS,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    ]


@pytest.mark.parametrize("version", range(7))
async def test_delete_topics_by_name_in_every_version(broker: HandlerBroker, version: int) -> None:
    entry = await broker.create("orders")
    if version >= 6:
        request = DeleteTopicsRequest(topics=[DeleteTopicState("orders"), DeleteTopicState("none")])
    else:
        request = DeleteTopicsRequest(topic_names=["orders", "none"])
    deleted, unknown = (await broker.ask(request, version=version)).responses
    assert (deleted.name, deleted.error_code) == ("orders", ErrorCode.NONE)
    assert (unknown.name, unknown.error_code) == ("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert broker.context.directory.by_id(entry.topic.topic_id) is None


async def test_delete_topics_by_id(broker: HandlerBroker) -> None:
    entry = await broker.create("orders")
    known, unknown = entry.topic.topic_id, b"\x01" * 16
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(topic_id=known), DeleteTopicState(topic_id=unknown)]
    )
    first, second = (await broker.ask(request)).responses
    assert (first.name, first.topic_id, first.error_code) == ("orders", known, ErrorCode.NONE)
    assert (second.name, second.topic_id) == (None, unknown)
    assert second.error_code == ErrorCode.UNKNOWN_TOPIC_ID


async def test_a_topic_to_delete_has_either_a_name_or_an_id(broker: HandlerBroker) -> None:
    entry = await broker.create("orders")
    both = DeleteTopicState("orders", entry.topic.topic_id)
    results = (await broker.ask(DeleteTopicsRequest(topics=[both, DeleteTopicState()]))).responses
    assert [each.error_code for each in results] == [ErrorCode.INVALID_REQUEST] * 2
    assert broker.context.directory.by_name("orders") == entry


async def test_a_topic_to_delete_named_twice_is_kept(broker: HandlerBroker) -> None:
    entry = await broker.create("orders")
    request = DeleteTopicsRequest(topic_names=["orders", "orders"])
    (result,) = (await broker.ask(request, version=5)).responses
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert broker.context.directory.by_name("orders") == entry


@pytest.mark.parametrize(
    ("version", "code"), [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)]
)
async def test_forbidden_deletion_has_a_code_that_the_client_knows(
    tmp_path: Path, version: int, code: ErrorCode
) -> None:
    async with handler_broker(tmp_path, overrides={"delete.topic.enable": "false"}) as broker:
        await broker.create("orders")
        response = await broker.ask(DeleteTopicsRequest(topic_names=["orders"]), version=version)
    assert [each.error_code for each in response.responses] == [code]


@pytest.mark.parametrize("version", range(4))
async def test_create_partitions_in_every_version(broker: HandlerBroker, version: int) -> None:
    await broker.create("orders", 2)
    topics = [CreatePartitionsTopic("orders", 5), CreatePartitionsTopic("none", 5)]
    grown, unknown = (await broker.ask(CreatePartitionsRequest(topics=topics), version=version)).results
    assert (grown.name, grown.error_code) == ("orders", ErrorCode.NONE)
    assert (unknown.name, unknown.error_code) == ("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    (stored,) = await broker.parts.control_plane.load_topics()
    assert stored.partition_count == 5


async def test_create_partitions_refuses_each_by_its_own_reason(broker: HandlerBroker) -> None:
    for name in ("fewer", "placed", "twice"):
        await broker.create(name, 2)
    topics = [
        CreatePartitionsTopic("fewer", 1),
        CreatePartitionsTopic("placed", 3, [CreatePartitionsAssignment([0])]),
        CreatePartitionsTopic("twice", 3),
        CreatePartitionsTopic("twice", 4),
    ]
    results = (await broker.ask(CreatePartitionsRequest(topics=topics))).results
    assert [(each.name, each.error_code) for each in results] == [
        ("fewer", ErrorCode.INVALID_PARTITIONS),
        ("placed", ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("twice", ErrorCode.INVALID_REQUEST),
    ]
    assert {entry.topic.partition_count for entry in broker.context.directory.all()} == {2}


async def test_a_trial_of_create_partitions_adds_none(broker: HandlerBroker) -> None:
    entry = await broker.create("orders", 2)
    request = CreatePartitionsRequest(topics=[CreatePartitionsTopic("orders", 5)], validate_only=True)
    (result,) = (await broker.ask(request)).results
    assert result.error_code == ErrorCode.NONE
    assert broker.context.directory.by_name("orders") == entry


async def test_without_a_database_every_topic_gets_a_retriable_code(broker: HandlerBroker) -> None:
    await broker.create("orders")
    broker.parts.link.is_down = True
    created = (await broker.ask(CreateTopicsRequest(topics=[asked("a"), asked("b")]))).topics
    deleted = (await broker.ask(DeleteTopicsRequest(topics=[DeleteTopicState("orders")]))).responses
    grown = (await broker.ask(CreatePartitionsRequest(topics=[CreatePartitionsTopic("orders", 5)]))).results
    codes = [each.error_code for each in [*created, *deleted, *grown]]
    assert codes == [ErrorCode.REQUEST_TIMED_OUT] * 4
    assert ErrorCode.REQUEST_TIMED_OUT.is_retriable

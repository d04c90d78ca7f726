"""What another broker has made in the database a moment ago, asked for here before anybody told us."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from inkless.coordinator.types import NewTopic, Topic, TopicId
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    CreatableTopic,
    CreateTopicsRequest,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    DescribeClusterRequest,
    DescribeTopicPartitionsRequest,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    FindCoordinatorRequest,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    MetadataRequest,
    MetadataRequestTopic,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
    TopicRequest,
)
from support.cluster_parts import LEASE_MS, a_broker
from support.data_path_broker import DataPathBroker, batch_of, data_path_broker

NAME = "news"
ID = TopicId(bytes(15) + b"\x09")
_COMMITTED = OffsetCommitRequestPartition(0, 5)


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[DataPathBroker]:
    async with data_path_broker(tmp_path) as made:
        yield made


async def make_elsewhere(broker: DataPathBroker) -> Topic:
    return await broker.parts.control_plane.create_topic(NewTopic(ID, NAME, [[0]]))


ASKED: list[tuple[Any, Callable[[Any], int]]] = [
    (
        ListOffsetsRequest(topics=[ListOffsetsTopic(NAME, [ListOffsetsPartition(0, timestamp=-1)])]),
        lambda answer: answer.topics[0].partitions[0].error_code,
    ),
    (
        OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(NAME, [OffsetForLeaderPartition(0)])]),
        lambda answer: answer.topics[0].partitions[0].error_code,
    ),
    (
        DeleteRecordsRequest(topics=[DeleteRecordsTopic(NAME, [DeleteRecordsPartition(0, 0)])]),
        lambda answer: answer.topics[0].partitions[0].error_code,
    ),
    (
        OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic(topic_id=ID, partitions=[_COMMITTED])]),
        lambda answer: answer.topics[0].partitions[0].error_code,
    ),
    (
        OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup("g", topics=[OffsetFetchRequestTopics("", ID, [0])])]
        ),
        lambda answer: answer.groups[0].topics[0].partitions[0].error_code,
    ),
    (
        DescribeTopicPartitionsRequest(topics=[TopicRequest(NAME)]),
        lambda answer: answer.topics[0].error_code,
    ),
    (
        MetadataRequest([MetadataRequestTopic(topic_id=ID, name=None)]),
        lambda answer: answer.topics[0].error_code,
    ),
    (
        FetchRequest(topics=[FetchTopic(topic_id=ID, partitions=[FetchPartition(0)])]),
        lambda answer: answer.responses[0].partitions[0].error_code,
    ),
]


@pytest.mark.parametrize(("request_", "code_of"), ASKED, ids=[type(request).__name__ for request, _ in ASKED])
async def test_a_topic_made_elsewhere_is_known_at_once(
    broker: DataPathBroker, request_: Any, code_of: Callable[[Any], int]
) -> None:
    assert code_of(await broker.ask(request_)) != ErrorCode.NONE
    await make_elsewhere(broker)
    assert code_of(await broker.ask(request_)) == ErrorCode.NONE


async def test_offsets_in_a_topic_made_elsewhere_are_found_and_deleted(broker: DataPathBroker) -> None:
    await make_elsewhere(broker)
    topic = OffsetCommitRequestTopic(topic_id=ID, partitions=[_COMMITTED])
    await broker.ask(OffsetCommitRequest("g", topics=[topic]))
    broker.parts.directory.remove(ID)
    broker.parts.directory._version = -1
    everything = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)])
    (group,) = (await broker.ask(everything)).groups
    assert [each.committed_offset for each in group.topics[0].partitions] == [5]
    broker.parts.directory.remove(ID)
    broker.parts.directory._version = -1
    deleted = OffsetDeleteRequestTopic(NAME, [OffsetDeleteRequestPartition(0)])
    answer = await broker.ask(OffsetDeleteRequest("g", [deleted]))
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE


async def test_a_produce_is_refused_once_and_makes_the_topic_known(broker: DataPathBroker) -> None:
    await make_elsewhere(broker)
    request = a_produce()
    assert await code_of_produce(broker, request) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    await news(broker)
    assert await code_of_produce(broker, request) == ErrorCode.NONE


async def test_a_produce_to_a_topic_deleted_elsewhere_makes_that_known(broker: DataPathBroker) -> None:
    await broker.create(NAME)
    entry = broker.parts.directory.by_name(NAME)
    assert entry is not None
    await broker.parts.control_plane.delete_topic(entry.topic.topic_id)
    assert await code_of_produce(broker, a_produce()) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    await news(broker)
    assert broker.parts.directory.by_name(NAME) is None


async def test_a_fetch_from_a_topic_deleted_elsewhere_makes_that_known(broker: DataPathBroker) -> None:
    entry = await broker.create(NAME)
    await broker.parts.control_plane.delete_topic(entry.topic.topic_id)
    assert (await broker.fetch_from(entry, 0, 0)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    await news(broker)
    assert broker.parts.directory.by_name(NAME) is None


async def test_many_refused_produces_ask_the_database_once(broker: DataPathBroker) -> None:
    broker.parts.link.calls.clear()
    for _ in range(50):
        assert await code_of_produce(broker, a_produce()) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert broker.parts.link.calls.count("living_brokers") <= 1
    await news(broker)
    assert broker.parts.link.calls.count("living_brokers") == 1


async def test_partitions_are_placed_on_brokers_that_came_a_moment_ago(broker: DataPathBroker) -> None:
    await broker.parts.control_plane.register_broker(a_broker(1, rack="b"), lease_ms=LEASE_MS)
    await broker.ask(CreateTopicsRequest([CreatableTopic(NAME, num_partitions=1, replication_factor=-1)]))
    entry = broker.parts.directory.by_name(NAME)
    assert entry is not None
    assert sorted(entry.topic.replicas[0]) == [0, 1]


async def test_requests_about_brokers_look_around(broker: DataPathBroker) -> None:
    broker.parts.membership._loaded_at -= 10
    await broker.parts.control_plane.register_broker(a_broker(1), lease_ms=LEASE_MS)
    described = await broker.ask(DescribeClusterRequest())
    assert [each.broker_id for each in described.brokers] == [0, 1]
    broker.parts.membership._loaded_at -= 10
    await broker.parts.control_plane.deregister_broker(1, a_broker(1).incarnation)
    groups = [f"group-{number}" for number in range(16)]
    found = await broker.ask(FindCoordinatorRequest(coordinator_keys=groups))
    assert {each.node_id for each in found.coordinators} == {0}


def a_produce() -> ProduceRequest:
    data = PartitionProduceData(0, memoryview(batch_of(1000)))
    return ProduceRequest(acks=-1, topic_data=[TopicProduceData(NAME, partition_data=[data])])


async def code_of_produce(broker: DataPathBroker, request: ProduceRequest) -> int:
    response = await broker.produce(request, version=9)
    assert response is not None
    code: int = response.responses[0].partition_responses[0].error_code
    return code


async def news(broker: DataPathBroker) -> None:
    """Returns when what was begun to catch up is done."""
    await asyncio.gather(*broker.parts.membership._catching_up._tasks)

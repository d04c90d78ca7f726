"""Metadata and DescribeTopicPartitions: what is known, what is made on demand, and pages of it."""

from pathlib import Path
from typing import Any

import pytest

from inkless.coordinator.types import Listener
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    Cursor,
    DescribeTopicPartitionsRequest,
    MetadataRequest,
    MetadataRequestTopic,
    TopicRequest,
)
from inkless.protocol.wire_types import INT32_MIN, NO_UUID
from inkless.server.handlers.operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from support.cluster_parts import a_broker, cluster_parts
from support.handler_broker import HandlerBroker, handler_broker

UNKNOWN_ID = bytes(15) + b"\x05"


def by_name(*names: str, create: bool = False) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=create)


def by_id(topic_id: bytes, name: str | None = None) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(topic_id, name)], allow_auto_topic_creation=True)


async def only_topic(broker: HandlerBroker, request: MetadataRequest, version: int | None = None) -> Any:
    (topic,) = (await broker.ask(request, version=version)).topics
    return topic


@pytest.mark.parametrize("version", range(14))
async def test_a_topic_is_described_in_every_version(broker: HandlerBroker, version: int) -> None:
    entry = await broker.create("orders", 2)
    topic = await only_topic(broker, by_name("orders"), version)
    assert (topic.error_code, topic.name) == (ErrorCode.NONE, "orders")
    assert topic.topic_id == (entry.topic.topic_id if version >= 10 else NO_UUID)
    assert [
        (each.partition_index, each.leader_id, each.replica_nodes, each.isr_nodes)
        for each in topic.partitions
    ] == [(0, 0, [0], [0]), (1, 0, [0], [0])]


@pytest.mark.parametrize(("version", "topics"), [(0, []), (1, None), (13, None)])
async def test_all_topics_are_asked_for_by_nothing_and_later_by_null(
    broker: HandlerBroker, version: int, topics: list[MetadataRequestTopic] | None
) -> None:
    for name in ("b", "a"):
        await broker.create(name)
    response = await broker.ask(MetadataRequest(topics=topics), version=version)
    assert [topic.name for topic in response.topics] == ["a", "b"]


async def test_no_topics_are_asked_for_by_an_empty_list(broker: HandlerBroker) -> None:
    await broker.create("orders")
    response = await broker.ask(MetadataRequest(topics=[]))
    assert response.topics == []
    assert [each.node_id for each in response.brokers] == [0]


@pytest.mark.parametrize("version", [10, 11, 12, 13])
async def test_a_topic_is_found_by_its_id(broker: HandlerBroker, version: int) -> None:
    entry = await broker.create("orders")
    topic = await only_topic(broker, by_id(entry.topic.topic_id), version)
    assert (topic.error_code, topic.name, len(topic.partitions)) == (ErrorCode.NONE, "orders", 1)


@pytest.mark.parametrize(("version", "name"), [(10, ""), (11, ""), (12, None), (13, None)])
async def test_an_unknown_id_is_named_as_such_and_makes_no_topic(
    broker: HandlerBroker, version: int, name: str | None
) -> None:
    topic = await only_topic(broker, by_id(UNKNOWN_ID), version)
    assert (topic.error_code, topic.topic_id, topic.name) == (ErrorCode.UNKNOWN_TOPIC_ID, UNKNOWN_ID, name)
    assert len(broker.parts.directory) == 0


async def test_a_topic_is_named_by_name_or_by_id_not_by_both(broker: HandlerBroker) -> None:
    entry = await broker.create("orders")
    topic = await only_topic(broker, by_id(entry.topic.topic_id, "orders"))
    assert topic.error_code == ErrorCode.INVALID_REQUEST


async def test_an_unknown_topic_is_made_when_client_and_broker_allow_it(broker: HandlerBroker) -> None:
    topic = await only_topic(broker, by_name("orders", create=True))
    assert (topic.error_code, len(topic.partitions)) == (ErrorCode.NONE, 1)
    assert broker.parts.directory.by_name("orders") is not None


async def test_an_unknown_topic_is_not_made_against_the_client_s_will(broker: HandlerBroker) -> None:
    topic = await only_topic(broker, by_name("orders"))
    assert (topic.error_code, topic.name) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "orders")
    assert len(broker.parts.directory) == 0


async def test_an_unknown_topic_is_not_made_against_the_broker_s_settings(tmp_path: Path) -> None:
    async with handler_broker(tmp_path, overrides={"auto.create.topics.enable": "false"}) as broker:
        topic = await only_topic(broker, by_name("orders", create=True))
        assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("name", ["", "a b", "..", "x" * 250])
async def test_a_name_that_no_topic_may_have_is_refused(broker: HandlerBroker, name: str) -> None:
    topic = await only_topic(broker, by_name(name, create=True))
    assert (topic.error_code, topic.name) == (ErrorCode.INVALID_TOPIC_EXCEPTION, name)


async def test_what_another_broker_has_just_made_is_found(broker: HandlerBroker, tmp_path: Path) -> None:
    async with cluster_parts(tmp_path, overrides={"node.id": "1"}) as other:
        await HandlerBroker(broker.context, other).create("orders")
        topic = await only_topic(broker, by_name("orders"))
        assert topic.error_code == ErrorCode.NONE


async def test_without_a_control_plane_what_is_known_is_told(broker: HandlerBroker) -> None:
    await broker.create("orders")
    broker.parts.link.is_down = True
    response = await broker.ask(by_name("orders", "new", create=True))
    assert {topic.name: topic.error_code for topic in response.topics} == {
        "orders": ErrorCode.NONE,
        "new": ErrorCode.LEADER_NOT_AVAILABLE,
    }
    assert [topic.name for topic in (await broker.ask(MetadataRequest(topics=None))).topics] == ["orders"]


async def test_brokers_are_told_under_the_listener_the_client_came_through(broker: HandlerBroker) -> None:
    listeners = [Listener("PLAINTEXT", "inside", 1), Listener("EXTERNAL", "outside", 2)]
    await broker.parts.add_brokers(a_broker(3, rack="zone-a", listeners=listeners))
    response = await broker.ask(MetadataRequest(topics=None), listener="EXTERNAL")
    assert [(each.node_id, each.host, each.port, each.rack) for each in response.brokers] == [
        (0, "host-0", 9092, None),
        (3, "outside", 2, "zone-a"),
    ]
    assert (response.controller_id, response.cluster_id) == (0, broker.context.cluster_id)


async def test_a_dead_replica_is_offline_and_a_living_broker_leads(broker: HandlerBroker) -> None:
    await broker.parts.add_brokers(a_broker(3))
    await broker.create("orders", 4)
    await broker.parts.control_plane.deregister_broker(3, a_broker(3).incarnation)
    await broker.parts.membership.refresh()
    topic = await only_topic(broker, by_name("orders"))
    assert [each.leader_id for each in topic.partitions] == [0, 0, 0, 0]
    assert any(each.offline_replicas == [3] for each in topic.partitions)


async def test_what_a_client_may_do_is_told_only_when_asked_for(broker: HandlerBroker) -> None:
    await broker.create("orders")
    request = by_name("orders")
    response = await broker.ask(request, version=8)
    assert response.cluster_authorized_operations == INT32_MIN
    assert response.topics[0].topic_authorized_operations == INT32_MIN
    request.include_cluster_authorized_operations = request.include_topic_authorized_operations = True
    response = await broker.ask(request, version=8)
    assert response.cluster_authorized_operations == CLUSTER_OPERATIONS
    assert response.topics[0].topic_authorized_operations == TOPIC_OPERATIONS


async def pages(broker: HandlerBroker, limit: int, *names: str) -> list[list[tuple[str, list[int]]]]:
    """What each page holds, by topic; follows the cursors to the end."""
    found: list[list[tuple[str, list[int]]]] = []
    cursor: Cursor | None = None
    while True:
        response = await broker.ask(
            DescribeTopicPartitionsRequest([TopicRequest(name) for name in names], limit, cursor)
        )
        found.append(
            [(topic.name, [each.partition_index for each in topic.partitions]) for topic in response.topics]
        )
        cursor = response.next_cursor
        if cursor is None:
            return found
        assert len(found) < 20


async def test_pages_follow_each_other_without_gap_or_overlap(broker: HandlerBroker) -> None:
    for name, count in (("c", 1), ("a", 3), ("b", 2)):
        await broker.create(name, count)
    assert await pages(broker, 2) == [[("a", [0, 1])], [("a", [2]), ("b", [0])], [("b", [1]), ("c", [0])]]
    assert await pages(broker, 3) == [[("a", [0, 1, 2])], [("b", [0, 1]), ("c", [0])]]
    assert await pages(broker, 100) == [[("a", [0, 1, 2]), ("b", [0, 1]), ("c", [0])]]


@pytest.mark.parametrize("limit", [0, -5])
async def test_every_page_holds_something(broker: HandlerBroker, limit: int) -> None:
    await broker.create("a", 2)
    assert await pages(broker, limit) == [[("a", [0])], [("a", [1])]]


async def test_only_the_topics_asked_for_are_described_each_once(broker: HandlerBroker) -> None:
    for name in ("a", "b", "c"):
        await broker.create(name, 2)
    assert await pages(broker, 3, "c", "a", "c") == [[("a", [0, 1]), ("c", [0])], [("c", [1])]]


async def test_an_unknown_topic_takes_no_room_and_is_named_as_such(broker: HandlerBroker) -> None:
    entry = await broker.create("b")
    response = await broker.ask(DescribeTopicPartitionsRequest([TopicRequest("a"), TopicRequest("b")], 1))
    assert [(topic.name, topic.error_code) for topic in response.topics] == [
        ("a", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("b", ErrorCode.NONE),
    ]
    assert response.topics[1].topic_id == entry.topic.topic_id
    assert response.next_cursor is None


async def test_a_cursor_in_a_topic_that_is_gone_goes_on_with_the_next(broker: HandlerBroker) -> None:
    await broker.create("a")
    await broker.create("c", 2)
    response = await broker.ask(DescribeTopicPartitionsRequest([], 10, Cursor("b", 5)))
    assert [(topic.name, len(topic.partitions)) for topic in response.topics] == [("c", 2)]


async def test_a_cursor_behind_a_topic_s_last_partition_gives_none_of_them(broker: HandlerBroker) -> None:
    await broker.create("a", 2)
    response = await broker.ask(DescribeTopicPartitionsRequest([], 10, Cursor("a", 5)))
    assert [len(topic.partitions) for topic in response.topics] == [0]
    assert response.next_cursor is None

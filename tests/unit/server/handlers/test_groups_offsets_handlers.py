"""OffsetCommit, OffsetFetch and OffsetDelete, in every version that clients may speak."""

import pytest

from inkless.cluster.directory import TopicEntry
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from support.cluster_parts import a_broker
from support.handler_broker import HandlerBroker

UNKNOWN_ID = bytes([7] * 16)


def a_commit(entry: TopicEntry, *offsets: int, group_id: str = "g", **changes: object) -> OffsetCommitRequest:
    topic = OffsetCommitRequestTopic(
        name=entry.topic.name,
        topic_id=entry.topic.topic_id,
        partitions=[
            OffsetCommitRequestPartition(index, offset, committed_metadata=f"note {index}")
            for index, offset in enumerate(offsets)
        ],
    )
    return OffsetCommitRequest(group_id, topics=[topic], **changes)  # type: ignore[arg-type]  # few fields


def codes_of(response: object) -> list[ErrorCode]:
    topics = response.topics  # type: ignore[attr-defined]  # of several messages
    return [ErrorCode(each.error_code) for topic in topics for each in topic.partitions]


async def committed(broker: HandlerBroker, group_id: str = "g") -> dict[str, dict[int, int]]:
    """All offsets of a group, as the newest tools ask for them."""
    response = await broker.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id)]), version=9)
    (group,) = response.groups
    return {
        topic.name: {each.partition_index: each.committed_offset for each in topic.partitions}
        for topic in group.topics
    }


@pytest.mark.parametrize("version", range(11))
async def test_offsets_are_committed_in_every_version(broker: HandlerBroker, version: int) -> None:
    entry = await broker.create("events", 3)
    response = await broker.ask(a_commit(entry, 5, 6), version=version)
    assert codes_of(response) == [ErrorCode.NONE, ErrorCode.NONE]
    (topic,) = response.topics
    assert topic.name == ("events" if version < 10 else "")
    assert await committed(broker) == {"events": {0: 5, 1: 6}}


@pytest.mark.parametrize("version", range(8))
async def test_offsets_of_one_group_are_fetched(broker: HandlerBroker, version: int) -> None:
    entry = await broker.create("events", 3)
    await broker.ask(a_commit(entry, 5, 6))
    request = OffsetFetchRequest(
        "g", topics=[OffsetFetchRequestTopic("events", [1, 2, 99]), OffsetFetchRequestTopic("unknown", [0])]
    )
    response = await broker.ask(request, version=version)
    assert response.error_code == ErrorCode.NONE
    assert [
        (topic.name, each.partition_index, each.committed_offset, each.metadata, each.error_code)
        for topic in response.topics
        for each in topic.partitions
    ] == [
        ("events", 1, 6, "note 1", 0),
        ("events", 2, -1, "", 0),
        ("events", 99, -1, "", 0),
        ("unknown", 0, -1, "", 0),
    ]


@pytest.mark.parametrize("version", range(2, 8))
async def test_all_offsets_of_one_group_are_fetched(broker: HandlerBroker, version: int) -> None:
    await broker.ask(a_commit(await broker.create("events", 2), 5, 6))
    await broker.ask(a_commit(await broker.create("others", 2), 7))
    response = await broker.ask(OffsetFetchRequest("g", topics=None), version=version)
    found = {topic.name: [each.committed_offset for each in topic.partitions] for topic in response.topics}
    assert found == {"events": [5, 6], "others": [7]}


@pytest.mark.parametrize("version", range(8, 11))
async def test_offsets_of_several_groups_are_fetched(broker: HandlerBroker, version: int) -> None:
    entry = await broker.create("events", 2)
    await broker.ask(a_commit(entry, 5, 6, group_id="g"))
    await broker.ask(a_commit(entry, 8, group_id="h"))
    asked = OffsetFetchRequestTopics("events", entry.topic.topic_id, [0, 1])
    request = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup("g", topics=[asked]),
            OffsetFetchRequestGroup("h", topics=None),
            OffsetFetchRequestGroup("unheard of", topics=[asked]),
        ]
    )
    response = await broker.ask(request, version=version)
    assert [
        (group.group_id, [each.committed_offset for topic in group.topics for each in topic.partitions])
        for group in response.groups
    ] == [("g", [5, 6]), ("h", [8]), ("unheard of", [-1, -1])]
    assert {group.error_code for group in response.groups} == {0}
    topic = response.groups[0].topics[0]
    assert (topic.name, topic.topic_id == entry.topic.topic_id) == (
        ("events", False) if version < 10 else ("", True)
    )


async def test_leader_epoch_is_kept(broker: HandlerBroker) -> None:
    entry = await broker.create("events")
    partition = OffsetCommitRequestPartition(0, 5, committed_leader_epoch=3)
    topic = OffsetCommitRequestTopic("events", entry.topic.topic_id, [partition])
    await broker.ask(OffsetCommitRequest("g", topics=[topic]))
    request = OffsetFetchRequest("g", topics=[OffsetFetchRequestTopic("events", [0])])
    (found,) = (await broker.ask(request, version=7)).topics[0].partitions
    assert (found.committed_leader_epoch, found.metadata) == (3, "")


async def test_refused_partitions_do_not_keep_others_from_being_committed(broker: HandlerBroker) -> None:
    await broker.create("events", 2)
    note_bytes_max = broker.context.settings.groups.offset_metadata_bytes_max
    request = OffsetCommitRequest(
        "g",
        topics=[
            OffsetCommitRequestTopic(
                "events",
                partitions=[
                    OffsetCommitRequestPartition(0, 5, committed_metadata="é" * (note_bytes_max // 2)),
                    OffsetCommitRequestPartition(1, 6, committed_metadata="é" * (note_bytes_max // 2 + 1)),
                    OffsetCommitRequestPartition(2, 7),
                ],
            ),
            OffsetCommitRequestTopic("unknown", partitions=[OffsetCommitRequestPartition(0, 8)]),
        ],
    )
    response = await broker.ask(request, version=9)
    assert codes_of(response) == [
        ErrorCode.NONE,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert await committed(broker) == {"events": {0: 5}}


async def test_unknown_topic_ids_are_named_so(broker: HandlerBroker) -> None:
    topic = OffsetCommitRequestTopic(topic_id=UNKNOWN_ID, partitions=[OffsetCommitRequestPartition(0, 1)])
    response = await broker.ask(OffsetCommitRequest("g", topics=[topic]), version=10)
    assert codes_of(response) == [ErrorCode.UNKNOWN_TOPIC_ID]
    asked = OffsetFetchRequestTopics(topic_id=UNKNOWN_ID, partition_indexes=[0])
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=[asked])])
    (group,) = (await broker.ask(request, version=10)).groups
    assert codes_of(group) == [ErrorCode.UNKNOWN_TOPIC_ID]


async def test_topic_made_anew_begins_without_offsets(broker: HandlerBroker) -> None:
    entry = await broker.create("events")
    await broker.ask(a_commit(entry, 5))
    await broker.parts.topic_changes.delete(entry)
    await broker.create("events")
    assert await committed(broker) == {}


@pytest.mark.parametrize("version", range(1, 11))
async def test_commit_of_no_member_is_refused(broker: HandlerBroker, version: int) -> None:
    entry = await broker.create("events", 2)
    request = a_commit(entry, 5, 6, generation_id_or_member_epoch=1, member_id="stranger")
    response = await broker.ask(request, version=version)
    assert codes_of(response) == [ErrorCode.UNKNOWN_MEMBER_ID] * 2
    assert await committed(broker) == {}


@pytest.mark.parametrize("version", range(11))
async def test_offsets_of_other_brokers_groups_are_refused(broker: HandlerBroker, version: int) -> None:
    entry = await broker.create("events")
    await broker.parts.add_brokers(a_broker(1), a_broker(2))
    response = await broker.ask(a_commit(entry, 5, group_id="group-2"), version=version)
    assert codes_of(response) == [ErrorCode.NOT_COORDINATOR]
    if version >= 8:
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("group-2")])
        (group,) = (await broker.ask(request, version=version)).groups
        assert group.error_code == ErrorCode.NOT_COORDINATOR
    else:
        request = OffsetFetchRequest("group-2", topics=[OffsetFetchRequestTopic("events", [0])])
        response = await broker.ask(request, version=version)
        found = codes_of(response) if version < 2 else [response.error_code]
        assert found == [ErrorCode.NOT_COORDINATOR]


async def test_clients_try_again_when_the_database_is_away(broker: HandlerBroker) -> None:
    entry = await broker.create("events")
    broker.parts.link.is_down = True
    assert codes_of(await broker.ask(a_commit(entry, 5))) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g")])
    (group,) = (await broker.ask(request)).groups
    assert group.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def a_delete(*topics: str, group_id: str = "g") -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group_id,
        [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)]) for topic in topics],
    )


async def join(broker: HandlerBroker, protocol_type: str, metadata: bytes) -> None:
    protocols = [JoinGroupRequestProtocol("range", metadata)]
    await broker.ask(
        JoinGroupRequest("g", 10_000, protocol_type=protocol_type, protocols=protocols), version=0
    )


async def test_offsets_are_deleted(broker: HandlerBroker) -> None:
    await broker.ask(a_commit(await broker.create("events", 2), 5, 6))
    response = await broker.ask(a_delete("events", "unknown"))
    assert codes_of(response) == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert await committed(broker) == {"events": {1: 6}}


async def test_offsets_of_topics_that_are_read_are_not_deleted(broker: HandlerBroker) -> None:
    await broker.ask(a_commit(await broker.create("events"), 5))
    await broker.ask(a_commit(await broker.create("others"), 6))
    await join(broker, "consumer", b"\x00\x00\x00\x00\x00\x01\x00\x06events\xff\xff\xff\xff")
    response = await broker.ask(a_delete("events", "others"))
    assert codes_of(response) == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ErrorCode.NONE]
    assert await committed(broker) == {"events": {0: 5}}


async def test_offsets_of_groups_that_are_no_consumers_are_deleted_when_empty(broker: HandlerBroker) -> None:
    await broker.ask(a_commit(await broker.create("events"), 5))
    await join(broker, "connect", b"")
    response = await broker.ask(a_delete("events"))
    assert (response.error_code, response.topics) == (ErrorCode.NON_EMPTY_GROUP, [])


async def test_offsets_of_an_unknown_group_cannot_be_deleted(broker: HandlerBroker) -> None:
    await broker.create("events")
    assert (await broker.ask(a_delete("events"))).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert await broker.parts.control_plane.load_groups(None) == []

"""What every control plane promises about topics, configs, brokers and ids."""

import dataclasses
import re
from collections.abc import Awaitable, Callable

import pytest

from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.types import BrokerRegistration, FindRequest, Listener, PartitionId, Topic
from inkless.errors import RequestError
from inkless.protocol.error_codes import ErrorCode
from support.coordinator_commits import HandClock, new_topic, new_topic_id, object_of, plain

BROKER = BrokerRegistration(
    3,
    b"first process",
    "zone-a",
    [Listener("PLAINTEXT", "localhost", 9092), Listener("TLS", "b", 9093, "SSL")],
)
SUCCESSOR = dataclasses.replace(
    BROKER, incarnation=b"second process", listeners=[Listener("PLAINTEXT", "localhost", 9999)]
)


async def test_cluster_id_is_made_once(control_plane: ControlPlane) -> None:
    cluster_id = await control_plane.cluster_id()
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", cluster_id)
    assert await control_plane.cluster_id() == cluster_id


async def test_topics_are_loaded_by_name_as_they_were_made(control_plane: ControlPlane) -> None:
    assert await control_plane.load_topics() == []
    late, early = new_topic("zebra", 2, {"retention.ms": "1"}), new_topic("ant")
    made = [await control_plane.create_topic(late), await control_plane.create_topic(early)]
    assert made[0] == Topic(late.topic_id, "zebra", made[0].shard, [[1], [1]], {"retention.ms": "1"})
    assert await control_plane.load_topics() == [made[1], made[0]]


async def test_name_is_taken_once_but_a_repeated_call_answers_as_the_first(
    control_plane: ControlPlane,
) -> None:
    new = new_topic("events", 2)
    made = await control_plane.create_topic(new)
    assert await control_plane.create_topic(new) == made
    with pytest.raises(RequestError) as raised:
        await control_plane.create_topic(new_topic("events"))
    assert raised.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert await control_plane.load_topics() == [made]


async def test_name_of_a_deleted_topic_is_free_and_its_log_is_new(control_plane: ControlPlane) -> None:
    old = await control_plane.create_topic(new_topic("events"))
    partition = PartitionId(old.shard, old.topic_id, 0)
    committed = object_of({partition: [plain(5)]})
    await control_plane.commit_objects([committed])
    await control_plane.delete_topic(old.topic_id)
    (bounds,) = await control_plane.offset_bounds([partition])
    assert bounds.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ((refused,),) = await control_plane.commit_objects([object_of({partition: [plain()]})])
    assert refused.errors == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    new = await control_plane.create_topic(new_topic("events"))
    (found,) = await control_plane.find_batches(
        [FindRequest(PartitionId(new.shard, new.topic_id, 0), 0, 100)], bytes_max=100
    )
    assert (found.high_watermark, list(found.coordinates)) == (0, [])
    unreferenced = await control_plane.unreferenced_objects(since_before_ms=1 << 60, count_max=10)
    assert committed.object_id in [each.object_id for each in unreferenced]


async def test_partitions_are_appended_once(control_plane: ControlPlane) -> None:
    topic = await control_plane.create_topic(new_topic("events", 2))
    partition = PartitionId(topic.shard, topic.topic_id, 3)
    ((refused,),) = await control_plane.commit_objects([object_of({partition: [plain()]})])
    assert refused.errors
    for _ in range(2):
        grown = await control_plane.add_partitions(
            topic.topic_id, partitions_before=2, replicas=[[2], [3, 1]]
        )
        assert grown.replicas == [[1], [1], [2], [3, 1]]
    assert await control_plane.load_topics() == [grown]
    ((accepted,),) = await control_plane.commit_objects([object_of({partition: [plain()]})])
    assert list(accepted.base_offsets) == [0]
    with pytest.raises(RequestError) as raised:
        await control_plane.add_partitions(topic.topic_id, partitions_before=2, replicas=[[2]])
    assert raised.value.code is ErrorCode.INVALID_PARTITIONS


async def test_topic_configs_are_set_and_removed(control_plane: ControlPlane) -> None:
    topic = await control_plane.create_topic(new_topic("events", 1, {"a": "1", "b": "2"}))
    altered = await control_plane.alter_topic_configs(
        topic.topic_id, {"a": None, "b": "3", "c": "é", "d": None}
    )
    assert altered.configs == {"b": "3", "c": "é"}
    assert await control_plane.load_topics() == [altered]


async def test_changes_of_a_topic_that_is_not_there_are_refused(control_plane: ControlPlane) -> None:
    missing = new_topic_id()
    for call in (
        control_plane.delete_topic(missing),
        control_plane.add_partitions(missing, partitions_before=1, replicas=[[1]]),
        control_plane.alter_topic_configs(missing, {"a": "1"}),
    ):
        with pytest.raises(RequestError) as raised:
            await call
        assert raised.value.code is ErrorCode.UNKNOWN_TOPIC_ID


async def test_broker_configs_are_kept_by_broker_and_for_all(control_plane: ControlPlane) -> None:
    assert await control_plane.broker_configs() == {}
    await control_plane.alter_broker_configs(None, {"a": "1"})
    await control_plane.alter_broker_configs(0, {"b": "2", "c": "3"})
    await control_plane.alter_broker_configs(0, {"b": None})
    assert await control_plane.broker_configs() == {None: {"a": "1"}, 0: {"c": "3"}}
    await control_plane.alter_broker_configs(0, {"c": None})
    assert await control_plane.broker_configs() == {None: {"a": "1"}}


async def test_metadata_version_grows_with_every_change_and_only_then(control_plane: ControlPlane) -> None:
    topic = await control_plane.create_topic(new_topic("events"))
    changes: list[Callable[[], Awaitable[object]]] = [
        lambda: control_plane.create_topic(new_topic("more")),
        lambda: control_plane.add_partitions(topic.topic_id, partitions_before=1, replicas=[[1]]),
        lambda: control_plane.alter_topic_configs(topic.topic_id, {"a": "1"}),
        lambda: control_plane.alter_broker_configs(None, {"a": "1"}),
        lambda: control_plane.register_broker(BROKER, lease_ms=1_000),
        lambda: control_plane.deregister_broker(BROKER.broker_id, BROKER.incarnation),
        lambda: control_plane.delete_topic(topic.topic_id),
    ]
    version = await control_plane.metadata_version()
    for change in changes:
        await change()
        after = await control_plane.metadata_version()
        assert after > version
        version = after
    await control_plane.register_broker(BROKER, lease_ms=1_000)
    version = await control_plane.metadata_version()
    await control_plane.register_broker(BROKER, lease_ms=1_000)
    assert await control_plane.metadata_version() == version


async def test_lease_is_held_by_one_process_until_it_runs_out(
    control_plane: ControlPlane, clock: HandClock
) -> None:
    await control_plane.register_broker(BROKER, lease_ms=1_000)
    clock.ms += 600
    await control_plane.register_broker(BROKER, lease_ms=1_000)
    clock.ms += 999
    with pytest.raises(RequestError) as raised:
        await control_plane.register_broker(SUCCESSOR, lease_ms=1_000)
    assert raised.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert await control_plane.living_brokers() == [BROKER]
    clock.ms += 1
    assert await control_plane.living_brokers() == []
    await control_plane.register_broker(SUCCESSOR, lease_ms=1_000)
    assert await control_plane.living_brokers() == [SUCCESSOR]


async def test_broker_at_the_same_address_takes_over_from_its_own_past(control_plane: ControlPlane) -> None:
    await control_plane.register_broker(BROKER, lease_ms=1_000)
    restarted = dataclasses.replace(BROKER, incarnation=b"third process")
    await control_plane.register_broker(restarted, lease_ms=1_000)
    assert await control_plane.living_brokers() == [restarted]


async def test_lease_is_given_back_by_its_holder_only(control_plane: ControlPlane) -> None:
    await control_plane.register_broker(BROKER, lease_ms=1_000)
    await control_plane.deregister_broker(BROKER.broker_id, SUCCESSOR.incarnation)
    assert await control_plane.living_brokers() == [BROKER]
    for _ in range(2):
        await control_plane.deregister_broker(BROKER.broker_id, BROKER.incarnation)
        assert await control_plane.living_brokers() == []


async def test_living_brokers_are_in_the_order_of_their_ids(control_plane: ControlPlane) -> None:
    brokers = [dataclasses.replace(BROKER, broker_id=number, rack=None) for number in (10, 2, 1)]
    for broker in brokers:
        await control_plane.register_broker(broker, lease_ms=1_000)
    assert await control_plane.living_brokers() == brokers[::-1]


async def test_producer_ids_are_never_given_out_twice(control_plane: ControlPlane) -> None:
    first = await control_plane.allocate_producer_ids(1000)
    second = await control_plane.allocate_producer_ids(1)
    third = await control_plane.allocate_producer_ids(10)
    assert first >= 0
    assert (second, third) == (first + 1000, first + 1001)

"""Several brokers on one control plane: any of them serves everything, and none of them is needed."""

# confluent-kafka has types but does not declare what it exports.
# mypy: disable-error-code="attr-defined"

import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions

from clients.confluent_client import QUIET, create_topic
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    FindCoordinatorRequest,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from support.broker_cluster import BrokerCluster, metadata, running_cluster, wait_until
from support.broker_process import BrokerProcess
from support.bystander import batch_of
from support.produced_values import assert_nothing_lost, sent_values, values_of, wait_for_all_partitions
from support.raw_client import RawClient
from support.recording_producer import RecordingProducer
from support.stored_values import stored_values

SECONDS_MAX = 30.0
LONG_LEASE = {"inkless.broker.lease.ms": "60000"}
"""So long that nothing here is explained by a lease that has run out, or by a look around to renew one."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerCluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster"), options=LONG_LEASE) as running:
        yield running


def test_every_broker_tells_of_all_brokers_and_their_zones(cluster: BrokerCluster) -> None:
    ports = [broker.port for broker in cluster.brokers]
    expected = list(zip(range(3), ports, "abc", strict=True))
    for broker in cluster.brokers:
        told = metadata(broker).brokers
        assert [(each.node_id, each.port, each.rack) for each in told] == expected


def test_a_new_topic_has_a_replica_in_every_zone(tmp_path: Path) -> None:
    with running_cluster(tmp_path, options=LONG_LEASE) as cluster:
        create_topic(cluster.brokers[0].bootstrap, "spread", partitions=3)
        (topic,) = metadata(cluster.brokers[1], "spread").topics
        assert [sorted(partition.replica_nodes) for partition in topic.partitions] == [[0, 1, 2]] * 3
        assert sorted(partition.leader_id for partition in topic.partitions) == [0, 1, 2]


def test_a_new_topic_can_be_read_through_the_others_at_once(cluster: BrokerCluster) -> None:
    first, second, third = cluster.brokers
    create_topic(first.bootstrap, "new", partitions=2)
    with RawClient(second.port) as client:
        assert client.fetch("new", 1, 0).error_code == ErrorCode.NONE
    with RawClient(third.port) as client:
        wanted = ListOffsetsTopic("new", [ListOffsetsPartition(1, timestamp=-1)])
        (topic,) = client.call(ListOffsetsRequest(topics=[wanted]), 7).topics
        assert topic.partitions[0].error_code == ErrorCode.NONE


def test_a_new_topic_can_be_written_through_the_others_after_one_refusal(cluster: BrokerCluster) -> None:
    create_topic(cluster.brokers[0].bootstrap, "written")
    with RawClient(cluster.brokers[1].port) as client:

        def is_taken() -> bool:
            code = client.produce("written", 0, batch_of(b"value")).error_code
            assert code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return code == ErrorCode.NONE

        wait_until(is_taken, what="a produce makes its broker learn of the topic")


def test_new_partitions_can_be_read_through_the_others_at_once(cluster: BrokerCluster) -> None:
    first, second, _ = cluster.brokers
    create_topic(first.bootstrap, "grown")
    with RawClient(second.port) as client:
        assert client.fetch("grown", 0, 0).error_code == ErrorCode.NONE
        assert client.fetch("grown", 1, 0).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        grow(first.bootstrap, "grown", 2)
        assert client.fetch("grown", 1, 0).error_code == ErrorCode.NONE


def test_a_topic_made_anew_replaces_the_deleted_one_everywhere(cluster: BrokerCluster) -> None:
    first, second, _ = cluster.brokers
    create_topic(first.bootstrap, "again")
    with RawClient(second.port) as client:
        assert client.fetch("again", 0, 0).error_code == ErrorCode.NONE
        admin = AdminClient({"bootstrap.servers": first.bootstrap, **QUIET})
        admin.delete_topics(["again"])["again"].result(SECONDS_MAX)
        create_topic(first.bootstrap, "again")
        with RawClient(first.port) as other:
            assert other.produce("again", 0, batch_of(b"of the new topic")).base_offset == 0

        def reads_the_new_one() -> bool:
            fetched = client.fetch("again", 0, 0)
            assert fetched.error_code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return fetched.high_watermark == 1

        wait_until(reads_the_new_one, what="the refusal makes the broker learn of the new topic")


def test_writers_through_all_brokers_share_one_dense_order(cluster: BrokerCluster) -> None:
    rounds = 40
    create_topic(cluster.bootstrap, "shared")

    def write(place: int) -> dict[int, bytes]:
        written = {}
        with RawClient(cluster.brokers[place].port) as client:
            client.fetch("shared", 0, 0)
            for number in range(rounds):
                value = b"%d-%d" % (place, number)
                answer = client.produce("shared", 0, batch_of(value))
                assert answer.error_code == ErrorCode.NONE
                written[answer.base_offset] = value
        return written

    with ThreadPoolExecutor() as threads:
        written = list(threads.map(write, range(3)))
    expected = {offset: value for each in written for offset, value in each.items()}
    assert sorted(expected) == list(range(3 * rounds))
    for each in written:
        assert list(each) == sorted(each)
    for broker in cluster.brokers:
        assert stored_values(broker.port, "shared", 0) == [expected[offset] for offset in sorted(expected)]
    assert len({fetched_bytes(broker.port, "shared") for broker in cluster.brokers}) == 1


def test_a_commit_through_one_broker_wakes_a_fetch_parked_at_another(cluster: BrokerCluster) -> None:
    first, second, _ = cluster.brokers
    create_topic(cluster.bootstrap, "parked")
    # The client gives up long before the fetch would end by itself.
    with RawClient(second.port) as reader, RawClient(first.port) as writer, ThreadPoolExecutor() as threads:
        writer.fetch("parked", 0, 0)
        assert reader.fetch("parked", 0, 0).high_watermark == 0
        parked = threads.submit(reader.fetch, "parked", 0, 0, max_wait_ms=60_000)
        assert writer.produce("parked", 0, batch_of(b"news")).error_code == ErrorCode.NONE
        assert parked.result().high_watermark == 1


def test_all_brokers_name_the_same_coordinator(cluster: BrokerCluster) -> None:
    groups = [f"group-{number}" for number in range(20)]
    named = []
    for broker in cluster.brokers:
        with RawClient(broker.port) as client:
            found = client.call(FindCoordinatorRequest(key_type=0, coordinator_keys=groups), 4)
            named.append([coordinator.node_id for coordinator in found.coordinators])
    assert named[0] == named[1] == named[2]
    assert set(named[0]) == {0, 1, 2}


@pytest.mark.parametrize(("end", "lease_ms"), [(BrokerProcess.stop, 60_000), (BrokerProcess.kill, 1500)])
def test_a_group_outlives_its_coordinator(
    tmp_path: Path, end: Callable[[BrokerProcess], None], lease_ms: int
) -> None:
    topic, group = "grouped", "survivors"
    with running_cluster(tmp_path, options={"inkless.broker.lease.ms": str(lease_ms)}) as cluster:
        with RawClient(cluster.brokers[0].port) as client:
            found = client.call(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]), 4)
        coordinator = cluster.brokers[found.coordinators[0].node_id]
        others = [broker for broker in cluster.brokers if broker is not coordinator]
        create_topic(cluster.bootstrap, topic)
        write_values(others[0].port, topic, b"one", b"two")
        with member_of(group, cluster, topic) as member:
            assert [next_value(member), next_value(member)] == [b"one", b"two"]
            member.commit(asynchronous=False)
            end(coordinator)
            write_values(others[0].port, topic, b"three")
            assert next_value(member) == b"three"
            wait_until(lambda: commits(member), what="the member commits to the new coordinator")
        write_values(others[1].port, topic, b"four")
        with member_of(group, cluster, topic) as successor:
            assert next_value(successor) == b"four"


def test_a_stopped_broker_leaves_at_once_and_a_killed_one_with_its_lease(tmp_path: Path) -> None:
    with running_cluster(tmp_path, options={"inkless.broker.lease.ms": "2000"}) as cluster:
        cluster.brokers[1].kill()
        assert cluster.seen_by(0) == {0, 1, 2}
        wait_until(lambda: cluster.seen_by(0) == {0, 2}, what="the lease of broker 1 has run out")
        wait_until(lambda: cluster.seen_by(2) == {0, 2}, what="the lease of broker 1 has run out")
        cluster.brokers[1].start()
        wait_until(lambda: cluster.seen_by(0) == {0, 1, 2}, what="broker 1 is back")
    with running_cluster(tmp_path / "stopped", options=LONG_LEASE) as cluster:
        cluster.brokers[1].stop()
        wait_until(lambda: cluster.seen_by(0) == {0, 2}, what="broker 1 has given its lease back")


@pytest.mark.parametrize(
    "rounds", [pytest.param(1, id="1-round"), pytest.param(9, id="9-rounds", marks=pytest.mark.slow)]
)
@pytest.mark.timeout(240)
def test_clients_go_on_without_a_killed_broker(tmp_path: Path, rounds: int) -> None:
    topic, partition_count = "killed", 6
    with running_cluster(tmp_path, options={"inkless.broker.lease.ms": "1500"}) as cluster:
        create_topic(cluster.bootstrap, topic, partitions=partition_count)
        producers = [
            RecordingProducer(
                cluster.bootstrap,
                topic,
                name=name,
                partition_count=partition_count,
                idempotent=name == "idempotent",
                records_per_second=3000,
            )
            for name in ("idempotent", "plain")
        ]
        with producers[0], producers[1]:
            for turn in range(rounds):
                killed = cluster.brokers[turn % 3]
                wait_for_all_partitions(producers, partition_count)
                time.sleep(random.uniform(0.05, 0.5))
                killed.kill()
                wait_for_all_partitions(producers, partition_count)
                killed.start()
        stored = {
            broker.port: [stored_values(broker.port, topic, place) for place in range(partition_count)]
            for broker in cluster.brokers
        }

    first, *others = stored.values()
    assert all(each == first for each in others)
    assert_nothing_lost(producers, first)
    assert values_of("idempotent", first) == sent_values(producers[0].acknowledged, partition_count)


def grow(bootstrap: str, topic: str, partition_count: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    admin.create_partitions([NewPartitions(topic, partition_count)])[topic].result(SECONDS_MAX)


def fetched_bytes(port: int, topic: str) -> bytes:
    """All batches of partition 0 as they come over the wire."""
    with RawClient(port) as client:
        return b"".join(client.fetch(topic, 0, 0).records or ())


def write_values(port: int, topic: str, *values: bytes) -> None:
    with RawClient(port) as client:
        # Makes the broker learn of a topic that it has not heard of.
        client.fetch(topic, 0, 0)
        assert client.produce(topic, 0, batch_of(*values)).error_code == ErrorCode.NONE


@contextmanager
def member_of(group: str, cluster: BrokerCluster, topic: str) -> Iterator[Consumer]:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6000,
            **QUIET,
        }
    )
    consumer.subscribe([topic])
    try:
        yield consumer
    finally:
        consumer.close()


def next_value(consumer: Consumer) -> bytes | None:
    """Of the next message; errors that come before it are those of brokers that are away."""
    deadline = time.monotonic() + SECONDS_MAX
    while time.monotonic() < deadline:
        message = consumer.poll(0.1)
        if message is not None and not message.error():
            value = message.value()
            assert isinstance(value, bytes)
            return value
    return None


def commits(consumer: Consumer) -> bool:
    try:
        consumer.commit(asynchronous=False)
    except KafkaException:
        consumer.poll(0.1)
        return False
    return True

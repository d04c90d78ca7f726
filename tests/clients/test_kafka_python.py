"""What applications and tools built on kafka-python do besides writing and reading."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.broker_process import BrokerProcess
from support.kafka_python import (
    ConfigResource,
    ConfigResourceType,
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    NewTopic,
    OffsetSpec,
    TopicPartition,
    errors,
)

SECONDS_MAX = 20.0
TIMESTAMP_MS = 1_700_000_000_000


@pytest.fixture
def admin(broker: BrokerProcess) -> Iterator[Any]:
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=broker.bootstrap)) as client:
        yield client


@pytest.fixture
def topic(admin: Any, new_topic_name: Callable[[str], str]) -> str:
    name = new_topic_name("kafka-python")
    admin.create_topics([NewTopic(name, 1, 1)])
    return name


def produce(broker: BrokerProcess, topic: str, *values: bytes, **settings: Any) -> list[Any]:
    with contextlib.closing(KafkaProducer(bootstrap_servers=broker.bootstrap, **settings)) as producer:
        sent = [
            producer.send(topic, value, partition=0, timestamp_ms=TIMESTAMP_MS + number * 1000)
            for number, value in enumerate(values)
        ]
        return [each.get(SECONDS_MAX) for each in sent]


def values_of(broker: BrokerProcess, topic: str, *, start: int = 0, count: int) -> list[bytes]:
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap, group_id=None, auto_offset_reset="none")
    values: list[bytes] = []
    deadline = time.monotonic() + SECONDS_MAX
    with contextlib.closing(consumer):
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), start)
        while len(values) < count and time.monotonic() < deadline:
            for messages in consumer.poll(timeout_ms=1000).values():
                values += [message.value for message in messages]
    return values


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_kind_of_acks_stores_the_records(broker: BrokerProcess, topic: str, acks: int | str) -> None:
    sent = produce(broker, topic, b"one", b"two", acks=acks, enable_idempotence=False)
    if acks != 0:
        assert [each.offset for each in sent] == [0, 1]
    assert values_of(broker, topic, count=2) == [b"one", b"two"]


def test_an_idempotent_producer_keeps_order(broker: BrokerProcess, topic: str) -> None:
    values = [b"%d" % number for number in range(300)]
    sent = produce(broker, topic, *values, enable_idempotence=True, batch_size=100)
    assert [each.offset for each in sent] == list(range(300))
    assert values_of(broker, topic, count=300) == values


def test_offsets_are_found(broker: BrokerProcess, topic: str, admin: Any) -> None:
    produce(broker, topic, b"0", b"1", b"2")
    partition = TopicPartition(topic, 0)

    def found(spec: Any) -> tuple[int, int]:
        answer = admin.list_partition_offsets({partition: spec})[partition]
        return answer.offset, answer.timestamp

    assert found(OffsetSpec.EARLIEST) == (0, -1)
    assert found(OffsetSpec.LATEST) == (3, -1)
    assert found(OffsetSpec.MAX_TIMESTAMP) == (2, TIMESTAMP_MS + 2000)
    assert found(TIMESTAMP_MS + 500) == (1, TIMESTAMP_MS + 1000)
    assert found(TIMESTAMP_MS + 2001) == (-1, -1)


def test_deleted_records_are_gone_and_the_rest_stays(broker: BrokerProcess, topic: str, admin: Any) -> None:
    produce(broker, topic, b"0", b"1", b"2", b"3")
    admin.delete_records({TopicPartition(topic, 0): 3})
    assert values_of(broker, topic, start=3, count=1) == [b"3"]
    with pytest.raises(errors.OffsetOutOfRangeError):
        values_of(broker, topic, start=0, count=1)


def test_partitions_can_be_added(topic: str, admin: Any) -> None:
    admin.create_partitions({topic: 4})
    (described,) = admin.describe_topics([topic])
    assert len(described["partitions"]) == 4
    with pytest.raises(errors.InvalidPartitionsError):
        admin.create_partitions({topic: 2})


def test_topic_configs_are_described_and_altered(topic: str, admin: Any) -> None:
    def described() -> Any:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        return admin.describe_configs([resource], config_filter="all")

    assert "'604800000'" in str(described())
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "12345"})])
    assert "'12345'" in str(described())
    wrong = ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "a while"})
    assert "InvalidConfigurationError" in str(admin.alter_configs([wrong]))
    assert "'12345'" in str(described())


def test_the_cluster_is_described(broker: BrokerProcess, admin: Any) -> None:
    described = admin.describe_cluster()
    (node,) = described["brokers"]
    assert (node["host"], node["port"]) == ("127.0.0.1", broker.port)


def test_a_topic_is_created_once_and_deleted_once(topic: str, admin: Any) -> None:
    with pytest.raises(errors.TopicAlreadyExistsError):
        admin.create_topics([NewTopic(topic, 1, 1)])
    assert topic in admin.list_topics()
    admin.delete_topics([topic])
    assert topic not in admin.list_topics()
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        admin.delete_topics([topic])


def test_producing_to_an_unknown_topic_creates_it(
    broker: BrokerProcess, admin: Any, new_topic_name: Callable[[str], str]
) -> None:
    topic = new_topic_name("made-by-kafka-python")
    (sent,) = produce(broker, topic, b"first")
    assert sent.offset == 0
    (described,) = admin.describe_topics([topic])
    assert len(described["partitions"]) == 2


def test_a_record_that_is_too_large_is_refused(
    broker: BrokerProcess, admin: Any, new_topic_name: Callable[[str], str]
) -> None:
    topic = new_topic_name("small-kafka-python")
    admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"max.message.bytes": "1000"})])
    with pytest.raises(errors.MessageSizeTooLargeError):
        produce(broker, topic, bytes(2000))
    (sent,) = produce(broker, topic, bytes(500))
    assert sent.offset == 0

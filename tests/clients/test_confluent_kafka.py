"""What applications built on librdkafka do besides writing and reading."""

# The package has some types but does not declare what it exports.
# mypy: disable-error-code="attr-defined, no-untyped-call"

import time
from collections.abc import Callable

import pytest
from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from clients.confluent_client import QUIET, SECONDS_MAX, create_topic, read_partitions
from support.broker_process import BrokerProcess

TIMESTAMP_MS = 1_700_000_000_000


@pytest.fixture
def admin(broker: BrokerProcess) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap, **QUIET})


@pytest.fixture
def topic(broker: BrokerProcess, new_topic_name: Callable[[str], str]) -> str:
    name = new_topic_name("confluent")
    create_topic(broker.bootstrap, name)
    return name


def produce(broker: BrokerProcess, topic: str, *values: bytes, **settings: str | int | bool) -> list[Message]:
    """Delivered messages in order of delivery; underscores in settings stand for dots."""
    delivered: list[Message] = []
    failed: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is None:
            delivered.append(message)
        else:
            failed.append(error)

    dotted = {name.replace("_", "."): value for name, value in settings.items()}
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, **QUIET, **dotted})
    for number, value in enumerate(values):
        producer.produce(
            topic, value, partition=0, timestamp=TIMESTAMP_MS + number * 1000, on_delivery=on_delivery
        )
    assert producer.flush(SECONDS_MAX) == 0
    if failed:
        raise KafkaException(failed[0])
    return delivered


def values_of(broker: BrokerProcess, topic: str, *, start: int = 0, count: int) -> list[bytes | str | None]:
    messages = read_partitions(broker.bootstrap, [TopicPartition(topic, 0, start)], count)
    return [message.value() for message in messages]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acks_stores_the_records(broker: BrokerProcess, topic: str, acks: str) -> None:
    delivered = produce(broker, topic, b"one", b"two", acks=acks)
    assert len(delivered) == 2
    if acks != "0":
        assert [message.offset() for message in delivered] == [0, 1]
    assert values_of(broker, topic, count=2) == [b"one", b"two"]


def test_an_idempotent_producer_keeps_order_over_many_batches(broker: BrokerProcess, topic: str) -> None:
    values = [b"%d" % number for number in range(700)]
    delivered = produce(broker, topic, *values, enable_idempotence=True, batch_num_messages=7)
    assert [message.offset() for message in delivered] == list(range(700))
    assert values_of(broker, topic, count=700) == values


def test_log_append_time_replaces_the_time_of_the_producer(
    broker: BrokerProcess, new_topic_name: Callable[[str], str]
) -> None:
    topic = new_topic_name("append-time")
    create_topic(broker.bootstrap, topic, message_timestamp_type="LogAppendTime")
    before_ms = time.time_ns() // 1_000_000
    (delivered,) = produce(broker, topic, b"now")
    (read,) = read_partitions(broker.bootstrap, [TopicPartition(topic, 0, 0)], 1)
    kind, timestamp_ms = read.timestamp()
    assert kind == 2
    assert before_ms <= timestamp_ms <= time.time_ns() // 1_000_000
    assert delivered.timestamp() == (kind, timestamp_ms)


@pytest.mark.parametrize(
    ("spec", "offset", "timestamp_ms"),
    [
        (OffsetSpec.earliest(), 0, -1),
        (OffsetSpec.latest(), 3, -1),
        (OffsetSpec.max_timestamp(), 2, TIMESTAMP_MS + 2000),
        (OffsetSpec.for_timestamp(TIMESTAMP_MS + 1), 1, TIMESTAMP_MS + 1000),
        (OffsetSpec.for_timestamp(TIMESTAMP_MS + 1000), 1, TIMESTAMP_MS + 1000),
        (OffsetSpec.for_timestamp(0), 0, TIMESTAMP_MS),
        (OffsetSpec.for_timestamp(TIMESTAMP_MS + 2001), -1, -1),
    ],
)
def test_offsets_are_found(
    broker: BrokerProcess, topic: str, admin: AdminClient, spec: OffsetSpec, offset: int, timestamp_ms: int
) -> None:
    produce(broker, topic, b"0", b"1", b"2", batch_num_messages=2)
    partition = TopicPartition(topic, 0)
    found = admin.list_offsets({partition: spec})[partition].result(SECONDS_MAX)
    assert (found.offset, found.timestamp) == (offset, timestamp_ms)


def test_a_consumer_finds_offsets_and_watermarks(broker: BrokerProcess, topic: str) -> None:
    produce(broker, topic, b"0", b"1", b"2")
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "unused", **QUIET})
    try:
        assert consumer.get_watermark_offsets(TopicPartition(topic, 0), SECONDS_MAX) == (0, 3)
        (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, TIMESTAMP_MS + 1500)], SECONDS_MAX)
        assert found.offset == 2
    finally:
        consumer.close()


def test_deleted_records_are_gone_and_the_rest_stays(
    broker: BrokerProcess, topic: str, admin: AdminClient
) -> None:
    produce(broker, topic, b"0", b"1", b"2", b"3")
    partition = TopicPartition(topic, 0, 2)
    deleted = admin.delete_records([partition])[partition].result(SECONDS_MAX)
    assert deleted.low_watermark == 2
    assert values_of(broker, topic, start=2, count=2) == [b"2", b"3"]
    with pytest.raises(KafkaException) as raised:
        values_of(broker, topic, start=1, count=1)
    # With auto.offset.reset=error librdkafka turns the broker's answer into its own complaint.
    assert raised.value.args[0].code() == KafkaError._AUTO_OFFSET_RESET


def test_partitions_can_be_added(broker: BrokerProcess, topic: str, admin: AdminClient) -> None:
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(SECONDS_MAX)
    described = admin.describe_topics(TopicCollection([topic]))[topic].result(SECONDS_MAX)
    assert [partition.id for partition in described.partitions] == [0, 1, 2]
    with pytest.raises(KafkaException) as raised:
        admin.create_partitions([NewPartitions(topic, 2)])[topic].result(SECONDS_MAX)
    assert raised.value.args[0].code() == KafkaError.INVALID_PARTITIONS


def test_topic_configs_are_described_and_altered(topic: str, admin: AdminClient) -> None:
    def value(name: str) -> str:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        entries = admin.describe_configs([resource])[resource].result(SECONDS_MAX)
        text: str = entries[name].value
        return text

    assert value("retention.ms") == "604800000"
    change = ConfigEntry("retention.ms", "1000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
    admin.incremental_alter_configs([resource])[resource].result(SECONDS_MAX)
    assert value("retention.ms") == "1000"

    wrong = ConfigEntry("retention.ms", "a while", incremental_operation=AlterConfigOpType.SET)
    refused = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[wrong])
    with pytest.raises(KafkaException) as raised:
        admin.incremental_alter_configs([refused])[refused].result(SECONDS_MAX)
    assert raised.value.args[0].code() == KafkaError.INVALID_CONFIG
    assert value("retention.ms") == "1000"


def test_broker_configs_are_described(admin: AdminClient) -> None:
    resource = ConfigResource(ResourceType.BROKER, "0")
    entries = admin.describe_configs([resource])[resource].result(SECONDS_MAX)
    assert entries["num.partitions"].value == "2"


def test_the_cluster_is_described(broker: BrokerProcess, admin: AdminClient) -> None:
    described = admin.describe_cluster().result(SECONDS_MAX)
    assert [(node.id, node.host, node.port) for node in described.nodes] == [(0, "127.0.0.1", broker.port)]
    assert described.controller.id == 0
    assert described.cluster_id == admin.list_topics(timeout=SECONDS_MAX).cluster_id


def test_a_deleted_topic_is_gone_and_its_name_begins_anew(
    broker: BrokerProcess, topic: str, admin: AdminClient
) -> None:
    produce(broker, topic, b"old")
    admin.delete_topics([topic])[topic].result(SECONDS_MAX)
    assert topic not in admin.list_topics(timeout=SECONDS_MAX).topics
    with pytest.raises(KafkaException) as raised:
        admin.delete_topics([topic])[topic].result(SECONDS_MAX)
    assert raised.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    create_topic(broker.bootstrap, topic)
    (delivered,) = produce(broker, topic, b"new")
    assert delivered.offset() == 0
    assert values_of(broker, topic, count=1) == [b"new"]


def test_a_topic_is_created_once(topic: str, admin: AdminClient) -> None:
    with pytest.raises(KafkaException) as raised:
        admin.create_topics([NewTopic(topic, 1)])[topic].result(SECONDS_MAX)
    assert raised.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS


def test_producing_to_an_unknown_topic_creates_it(
    broker: BrokerProcess, admin: AdminClient, new_topic_name: Callable[[str], str]
) -> None:
    topic = new_topic_name("made-by-producing")
    (delivered,) = produce(broker, topic, b"first")
    assert delivered.offset() == 0
    described = admin.describe_topics(TopicCollection([topic]))[topic].result(SECONDS_MAX)
    assert len(described.partitions) == 2


def test_asking_for_an_unknown_topic_does_not_create_it(
    broker: BrokerProcess, new_topic_name: Callable[[str], str]
) -> None:
    """Consumers of librdkafka forbid the creation, and the broker heeds it."""
    topic = new_topic_name("never-made")
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "unused", **QUIET})
    try:
        for _ in range(2):
            error = consumer.list_topics(topic, timeout=SECONDS_MAX).topics[topic].error
            assert error is not None
            assert error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    finally:
        consumer.close()


def test_a_record_that_is_too_large_is_refused(
    broker: BrokerProcess, new_topic_name: Callable[[str], str]
) -> None:
    topic = new_topic_name("small")
    create_topic(broker.bootstrap, topic, max_message_bytes="1000")
    with pytest.raises(KafkaException) as raised:
        produce(broker, topic, bytes(2000))
    assert raised.value.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
    (delivered,) = produce(broker, topic, bytes(500))
    assert delivered.offset() == 0


def test_a_record_of_many_megabytes_is_stored(
    broker: BrokerProcess, new_topic_name: Callable[[str], str]
) -> None:
    """Larger than the buffer that becomes one object."""
    topic = new_topic_name("large")
    create_topic(broker.bootstrap, topic, max_message_bytes=str(40_000_000))
    value = bytes(range(256)) * 100_000
    produce(broker, topic, value, message_max_bytes=40_000_000)
    assert values_of(broker, topic, count=1) == [value]

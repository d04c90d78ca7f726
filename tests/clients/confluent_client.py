"""librdkafka through confluent-kafka, at its newest protocol versions."""

# The package has types but does not declare what it exports.
# mypy: disable-error-code="attr-defined"

import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from clients.expected_records import CODECS, RECORDS, ExpectedRecord, ReadRecord
from clients.roster import Client

SECONDS_MAX = 30.0
QUIET = {"log_level": 2}
"""librdkafka writes a line for every connection that is refused."""


def create_topic(bootstrap: str, topic: str, *, partitions: int = 1, **configs: str) -> None:
    """Underscores in config names stand for dots."""
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    new = NewTopic(topic, partitions, config={name.replace("_", "."): text for name, text in configs.items()})
    admin.create_topics([new])[topic].result(SECONDS_MAX)


def read_partitions(bootstrap: str, places: Sequence[TopicPartition], count: int) -> list[Message]:
    """Messages from the given places on, until there are `count`; fewer when the time is up."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            **QUIET,
        }
    )
    consumer.assign(list(places))
    messages: list[Message] = []
    deadline = time.monotonic() + SECONDS_MAX
    try:
        while len(messages) < count and time.monotonic() < deadline:
            for message in consumer.consume(count - len(messages), timeout=1):
                if message.error():
                    raise KafkaException(message.error())
                messages.append(message)
    finally:
        consumer.close()
    return messages


class ConfluentClient:
    """The C client behind most languages."""

    name = "confluent-kafka"
    codecs = CODECS
    records = RECORDS
    states_timestamps = True

    def write(self, bootstrap: str, topic: str) -> None:
        create_topic(bootstrap, topic, partitions=len(CODECS))
        for partition, codec in enumerate(CODECS):
            producer = Producer(
                {"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 100, **QUIET}
            )
            for record in RECORDS:
                producer.produce(
                    topic,
                    record.value,
                    record.key,
                    partition=partition,
                    headers=list(record.headers),
                    timestamp=record.timestamp_ms,
                )
            assert producer.flush(SECONDS_MAX) == 0

    def read(self, bootstrap: str, topic: str, count: int) -> list[ReadRecord]:
        places = [TopicPartition(topic, partition, 0) for partition in range(len(CODECS))]
        return [as_read(message) for message in read_partitions(bootstrap, places, count)]


def as_read(message: Message) -> ReadRecord:
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    # Declared as a mapping or a list, in fact always a list.
    headers: Any = message.headers() or ()
    record = ExpectedRecord(message.key(), message.value(), tuple(headers), message.timestamp()[1])
    return ReadRecord(partition, offset, record)


def client() -> Client:
    return ConfluentClient()

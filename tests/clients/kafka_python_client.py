"""kafka-python 3, all in Python."""

import contextlib
import time
from typing import Any

from clients.expected_records import (
    CODECS,
    RECORDS,
    ExpectedRecord,
    ReadRecord,
    with_key_or_value,
    without_null_headers,
)
from clients.roster import Client
from support.kafka_python import KafkaAdminClient, KafkaConsumer, KafkaProducer, NewTopic, TopicPartition

SECONDS_MAX = 30.0


class KafkaPythonClient:
    """The oldest of the Python clients."""

    name = "kafka-python"
    codecs = CODECS
    records = without_null_headers(with_key_or_value(RECORDS))
    states_timestamps = True

    def write(self, bootstrap: str, topic: str) -> None:
        with contextlib.closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
            admin.create_topics([NewTopic(topic, len(CODECS), 1)])
        for partition, codec in enumerate(CODECS):
            producer = KafkaProducer(
                bootstrap_servers=bootstrap,
                compression_type=None if codec == "none" else codec,
                linger_ms=100,
                acks="all",
            )
            with contextlib.closing(producer):
                for record in self.records:
                    producer.send(
                        topic,
                        record.value,
                        record.key,
                        headers=list(record.headers),
                        partition=partition,
                        timestamp_ms=record.timestamp_ms,
                    )
                producer.flush(SECONDS_MAX)

    def read(self, bootstrap: str, topic: str, count: int) -> list[ReadRecord]:
        consumer = KafkaConsumer(
            bootstrap_servers=bootstrap, group_id=None, auto_offset_reset="none", enable_auto_commit=False
        )
        read: list[ReadRecord] = []
        with contextlib.closing(consumer):
            consumer.assign([TopicPartition(topic, partition) for partition in range(len(CODECS))])
            consumer.seek_to_beginning()
            deadline = time.monotonic() + SECONDS_MAX
            while len(read) < count and time.monotonic() < deadline:
                for messages in consumer.poll(timeout_ms=1000).values():
                    read += [as_read(message) for message in messages]
        return read


def as_read(message: Any) -> ReadRecord:
    record = ExpectedRecord(message.key, message.value, tuple(message.headers), message.timestamp)
    return ReadRecord(message.partition, message.offset, record)


def client() -> Client:
    return KafkaPythonClient()

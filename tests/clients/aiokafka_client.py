"""aiokafka, which speaks the oldest versions of all of them."""

# The package has no types.
# mypy: disable-error-code="import-untyped"

import asyncio
from collections.abc import Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from clients.expected_records import CODECS, RECORDS, ExpectedRecord, ReadRecord, with_key_or_value
from clients.roster import Client

SECONDS_MAX = 30.0


class AiokafkaClient:
    """The asyncio client."""

    name = "aiokafka"
    codecs = CODECS
    records = with_key_or_value(RECORDS)
    states_timestamps = True

    def write(self, bootstrap: str, topic: str) -> None:
        asyncio.run(asyncio.wait_for(_write(bootstrap, topic, self.records), SECONDS_MAX))

    def read(self, bootstrap: str, topic: str, count: int) -> list[ReadRecord]:
        return asyncio.run(asyncio.wait_for(_read(bootstrap, topic, count), SECONDS_MAX))


async def _write(bootstrap: str, topic: str, records: Sequence[ExpectedRecord]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        await admin.start()
        await admin.create_topics([NewTopic(topic, len(CODECS), 1)])
    finally:
        await admin.close()
    for partition, codec in enumerate(CODECS):
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=None if codec == "none" else codec,
            linger_ms=100,
            acks="all",
        )
        async with producer:
            sent = [
                await producer.send(
                    topic,
                    record.value,
                    record.key,
                    partition=partition,
                    timestamp_ms=record.timestamp_ms,
                    headers=list(record.headers),
                )
                for record in records
            ]
            await asyncio.gather(*sent)


async def _read(bootstrap: str, topic: str, count: int) -> list[ReadRecord]:
    read: list[ReadRecord] = []
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap, enable_auto_commit=False, auto_offset_reset="none"
    )
    async with consumer:
        consumer.assign([TopicPartition(topic, partition) for partition in range(len(CODECS))])
        await consumer.seek_to_beginning()
        while len(read) < count:
            for messages in (await consumer.getmany(timeout_ms=1000)).values():
                read += [as_read(message) for message in messages]
    return read


def as_read(message: Any) -> ReadRecord:
    record = ExpectedRecord(message.key, message.value, tuple(message.headers), message.timestamp)
    return ReadRecord(message.partition, message.offset, record)


def client() -> Client:
    return AiokafkaClient()

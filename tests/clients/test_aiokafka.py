"""What applications built on aiokafka do besides writing and reading."""

# The package has no types.
# mypy: disable-error-code="import-untyped"

from collections.abc import Callable

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import MessageSizeTooLargeError

from clients.confluent_client import create_topic
from support.broker_process import BrokerProcess

TIMESTAMP_MS = 1_700_000_000_000


@pytest.mark.parametrize("acks", [0, 1, "all"])
async def test_every_kind_of_acks_stores_the_records(
    broker: BrokerProcess, new_topic_name: Callable[[str], str], acks: int | str
) -> None:
    topic = new_topic_name("aiokafka-acks")
    create_topic(broker.bootstrap, topic)
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap, acks=acks) as producer:
        for value in (b"one", b"two"):
            await producer.send_and_wait(topic, value, partition=0)
    assert await values_of(broker, topic, 2) == [b"one", b"two"]


async def test_an_idempotent_producer_keeps_order(
    broker: BrokerProcess, new_topic_name: Callable[[str], str]
) -> None:
    topic = new_topic_name("aiokafka-idempotent")
    create_topic(broker.bootstrap, topic)
    async with AIOKafkaProducer(
        bootstrap_servers=broker.bootstrap, enable_idempotence=True, max_batch_size=200
    ) as producer:
        sent = [await producer.send(topic, b"%d" % number, partition=0) for number in range(300)]
        assert [(await each).offset for each in sent] == list(range(300))
    assert await values_of(broker, topic, 300) == [b"%d" % number for number in range(300)]


async def test_offsets_are_found(broker: BrokerProcess, new_topic_name: Callable[[str], str]) -> None:
    topic = new_topic_name("aiokafka-offsets")
    create_topic(broker.bootstrap, topic)
    partition = TopicPartition(topic, 0)
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        for number in range(3):
            await producer.send_and_wait(topic, b"v", partition=0, timestamp_ms=TIMESTAMP_MS + number * 1000)
    async with AIOKafkaConsumer(bootstrap_servers=broker.bootstrap) as consumer:
        assert await consumer.beginning_offsets([partition]) == {partition: 0}
        assert await consumer.end_offsets([partition]) == {partition: 3}
        found = await consumer.offsets_for_times({partition: TIMESTAMP_MS + 500})
        assert (found[partition].offset, found[partition].timestamp) == (1, TIMESTAMP_MS + 1000)


async def test_a_record_that_is_too_large_is_refused(
    broker: BrokerProcess, new_topic_name: Callable[[str], str]
) -> None:
    topic = new_topic_name("aiokafka-small")
    create_topic(broker.bootstrap, topic, max_message_bytes="1000")
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        with pytest.raises(MessageSizeTooLargeError):
            await producer.send_and_wait(topic, bytes(2000), partition=0)
        assert (await producer.send_and_wait(topic, bytes(500), partition=0)).offset == 0


async def values_of(broker: BrokerProcess, topic: str, count: int) -> list[bytes | None]:
    async with AIOKafkaConsumer(bootstrap_servers=broker.bootstrap) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        await consumer.seek_to_beginning()
        return [(await consumer.getone()).value for _ in range(count)]

"""Consumer groups as applications use them: members share partitions and go on where the group left off."""

# aiokafka has no types.
# mypy: disable-error-code="import-untyped"

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from clients.confluent_client import QUIET, SECONDS_MAX, create_topic
from support.broker_process import BrokerProcess, running_broker
from support.commands import command, run
from support.kafka_python import KafkaConsumer

Consume = Callable[[str, str, int], list[bytes]]
"""Joins the group named as the topic, takes a number of values, commits them and leaves."""


def fill(bootstrap: str, topic: str, values: Sequence[bytes]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, **QUIET})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(SECONDS_MAX) == 0


def member(bootstrap: str, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6000,
            **QUIET,
        }
    )


def poll_until(consumers: Sequence[Consumer], done: Callable[[], bool]) -> list[Message]:
    messages: list[Message] = []
    deadline = time.monotonic() + SECONDS_MAX
    while not done():
        assert time.monotonic() < deadline
        for consumer in consumers:
            message = consumer.poll(0.05)
            if message is None:
                continue
            if message.error():
                raise KafkaException(message.error())
            messages.append(message)
    return messages


def consume_with_confluent(bootstrap: str, topic: str, count: int) -> list[bytes]:
    consumer = member(bootstrap, topic)
    consumer.subscribe([topic])
    try:
        values: list[bytes] = []
        while len(values) < count:
            messages = consumer.consume(count - len(values), timeout=SECONDS_MAX)
            assert messages
            values += [bytes(message.value() or b"") for message in messages]
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return values


def consume_with_kafka_python(bootstrap: str, topic: str, count: int) -> list[bytes]:
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=topic,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=count,
    )
    values: list[bytes] = []
    with contextlib.closing(consumer):
        deadline = time.monotonic() + SECONDS_MAX
        while len(values) < count and time.monotonic() < deadline:
            for messages in consumer.poll(timeout_ms=1000, max_records=count - len(values)).values():
                values += [message.value for message in messages]
        consumer.commit()
    return values


async def consume_with_aiokafka(bootstrap: str, topic: str, count: int) -> list[bytes]:
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=topic,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    async with consumer:
        values = [(await consumer.getone()).value for _ in range(count)]
        await consumer.commit()
    return values


def consume_with_kcat(bootstrap: str, topic: str, count: int) -> list[bytes]:
    arguments = [command("kcat"), "-G", topic, "-b", bootstrap, "-q", "-c", str(count)]
    arguments += ["-X", "auto.offset.reset=earliest", "-f", r"%s\n", topic]
    return run(arguments, seconds_max=SECONDS_MAX).splitlines()


@pytest.mark.parametrize(
    "consume",
    [
        pytest.param(consume_with_confluent, id="confluent-kafka"),
        pytest.param(consume_with_kafka_python, id="kafka-python"),
        pytest.param(consume_with_kcat, id="kcat", marks=pytest.mark.kcat),
    ],
)
def test_a_group_goes_on_where_it_committed(
    broker: BrokerProcess, new_topic_name: Callable[[str], str], consume: Consume
) -> None:
    topic = new_topic_name("group")
    create_topic(broker.bootstrap, topic)
    values = [b"%d" % number for number in range(20)]
    fill(broker.bootstrap, topic, values)
    assert consume(broker.bootstrap, topic, 8) == values[:8]
    assert consume(broker.bootstrap, topic, 12) == values[8:]


async def test_a_group_of_aiokafka_goes_on_where_it_committed(
    broker: BrokerProcess, new_topic_name: Callable[[str], str]
) -> None:
    topic = new_topic_name("group")
    create_topic(broker.bootstrap, topic)
    values = [b"%d" % number for number in range(20)]
    fill(broker.bootstrap, topic, values)
    assert await consume_with_aiokafka(broker.bootstrap, topic, 8) == values[:8]
    assert await consume_with_aiokafka(broker.bootstrap, topic, 12) == values[8:]


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_members_share_the_partitions_and_take_over(
    broker: BrokerProcess, new_topic_name: Callable[[str], str], strategy: str
) -> None:
    topic = new_topic_name("shared")
    create_topic(broker.bootstrap, topic, partitions=4)
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": topic,
        "heartbeat.interval.ms": 200,
        **QUIET,
    }
    first, second = (Consumer({**settings, "partition.assignment.strategy": strategy}) for _ in range(2))

    def assigned(consumer: Consumer) -> set[int]:
        return {place.partition for place in consumer.assignment()}

    try:
        first.subscribe([topic])
        poll_until([first], lambda: assigned(first) == {0, 1, 2, 3})
        second.subscribe([topic])
        poll_until([first, second], lambda: len(assigned(first)) == len(assigned(second)) == 2)
        assert assigned(first) | assigned(second) == {0, 1, 2, 3}
        first.close()
        poll_until([second], lambda: assigned(second) == {0, 1, 2, 3})
    finally:
        second.close()


def test_committed_offsets_survive_kill_nine(tmp_path: Path) -> None:
    with running_broker(tmp_path) as broker:
        create_topic(broker.bootstrap, "t")
        fill(broker.bootstrap, "t", [b"%d" % number for number in range(10)])
        assert len(consume_with_confluent(broker.bootstrap, "t", 4)) == 4
        broker.kill()
        broker.start()
        consumer = member(broker.bootstrap, "t")
        try:
            (committed,) = consumer.committed([TopicPartition("t", 0)], timeout=SECONDS_MAX)
            assert committed.offset == 4
        finally:
            consumer.close()


def test_a_member_outlives_its_broker(tmp_path: Path) -> None:
    """The consumer is told nothing: it finds its group again on the broker that came back."""
    with running_broker(tmp_path) as broker:
        create_topic(broker.bootstrap, "t")
        fill(broker.bootstrap, "t", [b"before"])
        consumer = member(broker.bootstrap, "t")
        consumer.subscribe(["t"])
        try:
            seen: list[bytes] = []

            def take(count: int) -> None:
                deadline = time.monotonic() + SECONDS_MAX
                while len(seen) < count and time.monotonic() < deadline:
                    message = consumer.poll(0.2)
                    # Connections that are refused meanwhile are reported as errors that pass.
                    if message is not None and message.error() is None:
                        seen.append(bytes(message.value() or b""))

            take(1)
            consumer.commit(asynchronous=False)
            broker.kill()
            broker.start()
            fill(broker.bootstrap, "t", [b"after"])
            take(2)
            assert seen == [b"before", b"after"]
        finally:
            consumer.close()

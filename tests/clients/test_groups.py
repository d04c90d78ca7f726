"""Consumer groups as real clients use them: sharing, handing over, resuming."""

# aiokafka has no types.
# mypy: disable-error-code="import-untyped"

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from clients.confluent_client import QUIET, create_topic
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import HeartbeatRequest, JoinGroupRequest, JoinGroupRequestProtocol
from support import group_member_process
from support.broker_process import BrokerProcess, running_broker
from support.kafka_python import KafkaConsumer
from support.raw_client import RawClient

SECONDS_MAX = 30.0
PARTITIONS = 4
OPTIONS = {"group.min.session.timeout.ms": "500", "group.initial.rebalance.delay.ms": "50"}


@pytest.fixture(scope="module")
def group_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path_factory.mktemp("groups"), OPTIONS) as running:
        yield running


@pytest.fixture
def topic(group_broker: BrokerProcess, new_topic_name: Callable[[str], str]) -> str:
    """One that no other test has, of four partitions; its name is the group's too."""
    name = new_topic_name("groups")
    create_topic(group_broker.bootstrap, name, partitions=PARTITIONS)
    return name


def consumer_of(broker: BrokerProcess, group: str, **configs: object) -> Consumer:
    """Underscores in config names stand for dots."""
    return Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6_000,
            "heartbeat.interval.ms": 200,
            **QUIET,
            **{name.replace("_", "."): value for name, value in configs.items()},
        }
    )


def produce(broker: BrokerProcess, topic: str, values: Sequence[str]) -> None:
    """Dealt to the partitions in turn."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, **QUIET})
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % PARTITIONS)
    assert producer.flush(SECONDS_MAX) == 0


def poll_until(consumers: Sequence[Consumer], is_true: Callable[[], bool]) -> list[Message]:
    """What they get meanwhile."""
    messages = []
    deadline = time.monotonic() + SECONDS_MAX
    while not is_true():
        assert time.monotonic() < deadline, [owned(consumer) for consumer in consumers]
        for consumer in consumers:
            for message in consumer.consume(100, timeout=0.05):
                if message.error():
                    raise KafkaException(message.error())
                messages.append(message)
    return messages


def owned(consumer: Consumer) -> list[int]:
    return sorted(partition.partition for partition in consumer.assignment())


def counts(consumers: Sequence[Consumer]) -> list[int]:
    return sorted(len(owned(consumer)) for consumer in consumers)


def values_of(messages: Sequence[Message]) -> list[str]:
    return sorted(value.decode() for message in messages if isinstance(value := message.value(), bytes))


def read(consumers: Sequence[Consumer], count: int) -> list[str]:
    messages: list[Message] = []
    deadline = time.monotonic() + SECONDS_MAX
    while len(messages) < count and time.monotonic() < deadline:
        for consumer in consumers:
            messages += consumer.consume(100, timeout=0.05)
    return values_of(messages)


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_consumers_share_partitions_and_hand_them_over(
    group_broker: BrokerProcess, topic: str, strategy: str
) -> None:
    first, second = (
        consumer_of(group_broker, topic, partition_assignment_strategy=strategy) for _ in range(2)
    )
    with contextlib.closing(first):
        first.subscribe([topic])
        poll_until([first], lambda: counts([first]) == [4])
        with contextlib.closing(second):
            second.subscribe([topic])
            poll_until([first, second], lambda: counts([first, second]) == [2, 2])
            assert sorted(owned(first) + owned(second)) == [0, 1, 2, 3]
            values = [f"{number:03}" for number in range(100)]
            produce(group_broker, topic, values)
            assert read([first, second], 100) == values
        poll_until([first], lambda: counts([first]) == [4])


def test_partitions_of_a_killed_consumer_go_to_the_others(group_broker: BrokerProcess, topic: str) -> None:
    arguments = [group_broker.bootstrap, topic, topic]
    script = Path(group_member_process.__file__)
    killed = subprocess.Popen([sys.executable, script, *arguments], stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    with killed, contextlib.closing(consumer_of(group_broker, topic)) as survivor:
        assert killed.stdout.readline().split() == ["0", "1", "2", "3"]
        survivor.subscribe([topic])
        poll_until([survivor], lambda: counts([survivor]) == [2])
        killed.kill()
        poll_until([survivor], lambda: counts([survivor]) == [4])


def test_successor_resumes_where_the_group_stood(group_broker: BrokerProcess, topic: str) -> None:
    produce(group_broker, topic, ["a", "b", "c", "d"])
    first = consumer_of(group_broker, topic)
    first.subscribe([topic])
    assert read([first], 4) == ["a", "b", "c", "d"]
    first.commit(asynchronous=False)
    first.close()
    produce(group_broker, topic, ["e", "f", "g", "h"])
    with contextlib.closing(consumer_of(group_broker, topic)) as second:
        second.subscribe([topic])
        assert read([second], 4) == ["e", "f", "g", "h"]


def test_automatic_commits_are_made(group_broker: BrokerProcess, topic: str) -> None:
    produce(group_broker, topic, ["a", "b", "c", "d"])
    first = consumer_of(group_broker, topic, enable_auto_commit=True)
    first.subscribe([topic])
    assert read([first], 4) == ["a", "b", "c", "d"]
    first.close()
    assert [each.offset for each in committed(group_broker, topic)] == [1, 1, 1, 1]


def committed(broker: BrokerProcess, group: str) -> list[TopicPartition]:
    with contextlib.closing(consumer_of(broker, group)) as consumer:
        places = [TopicPartition(group, partition) for partition in range(PARTITIONS)]
        found: list[TopicPartition] = consumer.committed(places, timeout=SECONDS_MAX)
    return found


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_offsets_and_members_outlast_a_restart_of_the_broker(tmp_path: Path, end: str) -> None:
    topic = "events"
    with running_broker(tmp_path, OPTIONS) as broker:
        create_topic(broker.bootstrap, topic, partitions=PARTITIONS)
        produce(broker, topic, ["a", "b", "c", "d"])
        with contextlib.closing(consumer_of(broker, topic)) as consumer:
            consumer.subscribe([topic])
            assert read([consumer], 4) == ["a", "b", "c", "d"]
            consumer.commit(asynchronous=False)
            getattr(broker, end)()
            broker.start()
            produce(broker, topic, ["e", "f", "g", "h"])
            assert read([consumer], 4) == ["e", "f", "g", "h"]
            with contextlib.closing(consumer_of(broker, topic)) as other:
                other.subscribe([topic])
                poll_until([consumer, other], lambda: counts([consumer, other]) == [2, 2])
        assert [each.offset for each in committed(broker, topic)] == [1, 1, 1, 1]


def test_static_member_comes_back_without_a_rebalance(group_broker: BrokerProcess, topic: str) -> None:
    assignments = []
    staying = consumer_of(group_broker, topic, group_instance_id="stays")
    with contextlib.closing(staying):
        staying.subscribe([topic], on_assign=lambda _, partitions: assignments.append(partitions))
        leaving = consumer_of(group_broker, topic, group_instance_id="leaves")
        leaving.subscribe([topic])
        poll_until([staying, leaving], lambda: counts([staying, leaving]) == [2, 2])
        had = owned(leaving)
        rebalances = len(assignments)
        leaving.close()
        with contextlib.closing(consumer_of(group_broker, topic, group_instance_id="leaves")) as back:
            back.subscribe([topic])
            poll_until([staying, back], lambda: owned(back) == had)
            poll_for(staying, seconds=0.5)
            assert len(assignments) == rebalances
            assert counts([staying, back]) == [2, 2]


def poll_for(consumer: Consumer, *, seconds: float) -> None:
    """Long enough for two heartbeats, by which it would learn of a rebalance."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        consumer.poll(0.05)


def test_tools_list_describe_reset_and_delete_a_group(group_broker: BrokerProcess, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": group_broker.bootstrap, **QUIET})
    with contextlib.closing(consumer_of(group_broker, topic, client_id="a-reader")) as consumer:
        consumer.subscribe([topic])
        poll_until([consumer], lambda: counts([consumer]) == [4])
        described = admin.describe_consumer_groups([topic])[topic].result(SECONDS_MAX)
        assert (described.state.name, described.partition_assignor) == ("STABLE", "range")
        (member,) = described.members
        assert (member.client_id, member.host) == ("a-reader", "/127.0.0.1")
        assert [each.partition for each in member.assignment.topic_partitions] == [0, 1, 2, 3]
        with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
            admin.delete_consumer_groups([topic])[topic].result(SECONDS_MAX)
    listed = {
        each.group_id: each.state.name for each in admin.list_consumer_groups().result(SECONDS_MAX).valid
    }
    assert listed[topic] == "EMPTY"
    reset = _offsets_request(topic, [TopicPartition(topic, 0, 7)])
    admin.alter_consumer_group_offsets([reset])[topic].result(SECONDS_MAX)
    assert [each.offset for each in committed(group_broker, topic)] == [7, -1001, -1001, -1001]
    admin.delete_consumer_groups([topic])[topic].result(SECONDS_MAX)
    assert [each.offset for each in committed(group_broker, topic)] == [-1001] * 4


def _offsets_request(group: str, places: list[TopicPartition]) -> Any:
    from confluent_kafka import ConsumerGroupTopicPartitions

    return ConsumerGroupTopicPartitions(group, places)


def test_kafka_python_consumers_share_and_resume(group_broker: BrokerProcess, topic: str) -> None:
    def consumer() -> Any:
        return KafkaConsumer(
            topic,
            bootstrap_servers=group_broker.bootstrap,
            group_id=topic,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=6_000,
            heartbeat_interval_ms=200,
        )

    def poll(consumers: Sequence[Any], is_done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS_MAX
        while not is_done():
            assert time.monotonic() < deadline
            for each in consumers:
                for messages in each.poll(timeout_ms=50).values():
                    got.extend(message.value for message in messages)

    got: list[bytes] = []
    produce(group_broker, topic, ["a", "b", "c", "d"])
    with contextlib.closing(consumer()) as first:
        poll([first], lambda: len(got) == 4)
        first.commit()
        with contextlib.closing(consumer()) as second:
            both = [first, second]
            poll(both, lambda: [len(each.assignment()) for each in both] == [2, 2])
            produce(group_broker, topic, ["e", "f", "g", "h"])
            poll(both, lambda: len(got) == 8)
    assert sorted(got) == [b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h"]


async def test_aiokafka_consumers_share_and_resume(group_broker: BrokerProcess, topic: str) -> None:
    def consumer() -> Any:
        return AIOKafkaConsumer(
            topic,
            bootstrap_servers=group_broker.bootstrap,
            group_id=topic,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=6_000,
            heartbeat_interval_ms=200,
        )

    async def poll(consumers: Sequence[Any], is_done: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS_MAX):
            while not is_done():
                for each in consumers:
                    for messages in (await each.getmany(timeout_ms=50)).values():
                        got.extend(message.value for message in messages)

    got: list[bytes] = []
    await asyncio.to_thread(produce, group_broker, topic, ["a", "b", "c", "d"])
    async with consumer() as first:
        await poll([first], lambda: len(got) == 4)
        await first.commit()
        async with consumer() as second:
            both = [first, second]
            await poll(both, lambda: [len(each.assignment()) for each in both] == [2, 2])
            await asyncio.to_thread(produce, group_broker, topic, ["e", "f", "g", "h"])
            await poll(both, lambda: len(got) == 8)
    assert sorted(got) == [b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h"]


def test_broken_connection_leaves_its_member_in_the_group(group_broker: BrokerProcess, topic: str) -> None:
    protocols = [JoinGroupRequestProtocol("range", b"")]
    request = JoinGroupRequest(topic, 6_000, 6_000, protocol_type="consumer", protocols=protocols)
    with RawClient(group_broker.port) as client:
        member_id = client.call(request, 3).member_id
    with RawClient(group_broker.port) as client:
        assert client.call(HeartbeatRequest(topic, 1, member_id), 3).error_code == ErrorCode.NONE

"""A broker that comes back after a stop or a crash, and one that must not come while another is there."""

from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from clients.confluent_client import create_topic, read_partitions
from inkless.protocol.error_codes import ErrorCode
from support.broker_process import BrokerProcess
from support.bystander import batch_of
from support.raw_client import RawClient

TOPIC = "kept"


def test_a_stopped_broker_keeps_its_data(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path) as broker:
        create_topic(broker.bootstrap, TOPIC)
        with RawClient(broker.port) as client:
            assert client.produce(TOPIC, 0, batch_of(b"one", b"two")).base_offset == 0
        broker.stop()
        broker.start()
        with RawClient(broker.port) as client:
            assert client.produce(TOPIC, 0, batch_of(b"three")).base_offset == 2
        read = read_partitions(broker.bootstrap, [TopicPartition(TOPIC, 0, 0)], 3)
        assert [message.value() for message in read] == [b"one", b"two", b"three"]
        broker.stop()


def test_a_stop_answers_what_was_accepted(tmp_path: Path) -> None:
    # So long that only the stop can be what writes the object.
    names = ("settle", "linger", "commit.interval")
    with BrokerProcess(tmp_path, {f"inkless.produce.{name}.ms": "60000" for name in names}) as broker:
        create_topic(broker.bootstrap, TOPIC)
        with RawClient(broker.port) as client, ThreadPoolExecutor() as threads:
            produced = threads.submit(client.produce, TOPIC, 0, batch_of(b"in the buffer"))
            done, _ = wait([produced], timeout=1)
            assert not done
            broker.stop()
            assert produced.result().error_code == ErrorCode.NONE
        broker.start()
        (read,) = read_partitions(broker.bootstrap, [TopicPartition(TOPIC, 0, 0)], 1)
        assert read.value() == b"in the buffer"


def test_a_killed_broker_comes_back_while_its_lease_lasts(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, {"inkless.broker.lease.ms": "3000"}) as broker:
        broker.kill()
        broker.start()
        broker.stop()


def test_a_second_broker_of_the_same_id_is_refused(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, {"inkless.broker.lease.ms": "1000"}) as broker:
        other = BrokerProcess(
            tmp_path / "other",
            {"inkless.data.dir": str(tmp_path / "data"), "inkless.broker.lease.ms": "1000"},
        )
        with pytest.raises(AssertionError, match="the broker does not run"):
            other.start()
        assert "lease" in other.log_tail()
        with RawClient(broker.port) as client:
            assert client.fetch("no-such-topic", 0, 0).error_code != 0
        broker.stop()

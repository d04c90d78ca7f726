"""A broker that is killed in the middle of everything, again and again, on the same data."""

import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from clients.confluent_client import create_topic
from support.broker_process import BrokerProcess
from support.recording_producer import Acknowledged, RecordingProducer
from support.stored_values import stored_values

TOPIC = "killed"
PARTITIONS = 4

Stored = Mapping[int, Sequence[bytes]]


@pytest.mark.parametrize(
    "rounds",
    [pytest.param(5, id="5-rounds"), pytest.param(20, id="20-rounds", marks=pytest.mark.slow)],
)
@pytest.mark.timeout(240)
def test_kill_nine_loses_nothing_and_duplicates_nothing(tmp_path: Path, rounds: int) -> None:
    with BrokerProcess(tmp_path) as broker:
        create_topic(broker.bootstrap, TOPIC, partitions=PARTITIONS)
        idempotent = _producer(broker, "idempotent", idempotent=True)
        plain = _producer(broker, "plain", idempotent=False)
        with idempotent, plain:
            for _ in range(rounds):
                idempotent.wait_for_acknowledgements(1)
                plain.wait_for_acknowledgements(1)
                time.sleep(random.uniform(0.05, 0.6))
                broker.kill()
                broker.start()
        stored = {partition: stored_values(broker.port, TOPIC, partition) for partition in range(PARTITIONS)}
        broker.stop()

    for producer in (idempotent, plain):
        assert producer.failures == []
        assert producer.unanswered_count == 0
        assert_acknowledged_values_are_stored(producer.acknowledged, stored)
    assert_exactly_once_in_order(idempotent.acknowledged, stored, prefix=b"idempotent ")


def _producer(broker: BrokerProcess, name: str, *, idempotent: bool) -> RecordingProducer:
    return RecordingProducer(
        broker.bootstrap, TOPIC, name=name, partition_count=PARTITIONS, idempotent=idempotent
    )


def assert_acknowledged_values_are_stored(acknowledged: Sequence[Acknowledged], stored: Stored) -> None:
    lost = [
        each
        for each in acknowledged
        if len(stored[each.partition]) <= each.offset or stored[each.partition][each.offset] != each.value
    ]
    assert lost == []


def assert_exactly_once_in_order(
    acknowledged: Sequence[Acknowledged], stored: Stored, *, prefix: bytes
) -> None:
    """What the producer's values are in a partition is what it sent there, in the order of sending."""
    for partition, values in stored.items():
        kept = [value for value in values if value.startswith(prefix)]
        sent = sorted(
            (each.value for each in acknowledged if each.partition == partition),
            key=lambda value: int(value.split(b" ")[1]),
        )
        assert kept == sent

"""The broker's memory is a budget, whatever the load: what does not fit waits in the clients."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

from clients.confluent_client import QUIET, create_topic
from support.broker_process import BrokerProcess

MIB = 1024 * 1024
TOPIC = "loaded"
PARTITIONS = 8
PRODUCERS = 3
CONSUMERS = 3
LOAD_SECONDS = 10.0


@pytest.mark.slow
def test_memory_stays_within_its_budget_at_full_load(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path) as broker:
        create_topic(broker.bootstrap, TOPIC, partitions=PARTITIONS)
        end = time.monotonic() + LOAD_SECONDS
        moved = _run_all(
            [lambda: _produce(broker.bootstrap, end)] * PRODUCERS
            + [lambda: _consume(broker.bootstrap, end)] * CONSUMERS
        )
        peak_bytes = broker.memory_peak_bytes()
        broker.stop()
    produced, consumed = sum(moved[:PRODUCERS]), sum(moved[PRODUCERS:])
    # Less would not be a load worth the name, even on a slow machine.
    assert produced > 100 * MIB
    assert consumed > 100 * MIB
    assert peak_bytes < 700 * MIB, f"{peak_bytes / MIB:.0f} MiB after {produced / MIB:.0f} MiB"


def _run_all(jobs: list[Callable[[], int]]) -> list[int]:
    results = [0] * len(jobs)

    def run(place: int) -> None:
        results[place] = jobs[place]()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def _produce(bootstrap: str, end: float) -> int:
    """Bytes handed over until the time is up, all of them acknowledged."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 5,
            "batch.size": MIB,
            "queue.buffering.max.kbytes": 64 * 1024,
            **QUIET,
        }
    )
    value = bytes(16 * 1024)
    sent = 0
    while time.monotonic() < end:
        try:
            producer.produce(TOPIC, value, partition=sent % PARTITIONS)
            sent += 1
        except BufferError:
            producer.poll(0.01)
    assert producer.flush(60) == 0
    return sent * len(value)


def _consume(bootstrap: str, end: float) -> int:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "fetch.message.max.bytes": 8 * MIB,
            **QUIET,
        }
    )
    consumer.assign([TopicPartition(TOPIC, partition, OFFSET_BEGINNING) for partition in range(PARTITIONS)])
    received = 0
    while time.monotonic() < end:
        for message in consumer.consume(1000, timeout=0.1):
            if message.error():
                raise KafkaException(message.error())
            received += len(message.value() or b"")
    consumer.close()
    return received

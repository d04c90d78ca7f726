"""A broker whose objects are in S3: what it acknowledged is read back, also by its successor."""

from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from inkless.clock import SystemClock
from inkless.storage.open import open_store
from support.broker_process import BrokerProcess
from support.seaweedfs import S3Server

pytestmark = pytest.mark.s3

RECORDS = [f"record {number}".encode() for number in range(500)]


def options(server: S3Server) -> dict[str, str]:
    return {
        "inkless.storage.url": f"s3://{server.bucket}/broker-on-s3",
        "inkless.storage.s3.endpoint.url": server.endpoint,
        "inkless.storage.s3.region": "us-east-1",
        "inkless.storage.s3.access.key.id": server.access_key,
        "inkless.storage.s3.secret.access.key": server.secret_key,
        "inkless.storage.s3.path.style.access.enabled": "true",
    }


def produce(bootstrap: str) -> None:
    outcomes: list[object] = []
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for value in RECORDS:
        producer.produce("events", value, on_delivery=lambda error, _: outcomes.append(error))
    assert producer.flush(60) == 0
    assert outcomes == [None] * len(RECORDS)


def consume(bootstrap: str) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition("events", 0, 0)])
        values: list[bytes] = []
        while len(values) < len(RECORDS):
            messages = consumer.consume(len(RECORDS), timeout=30)
            assert messages, f"only {len(values)} of {len(RECORDS)} records came back"
            values += [message.value() or b"" for message in messages if message.error() is None]
        return values
    finally:
        consumer.close()


async def test_acknowledged_records_are_in_s3_and_outlive_the_broker(
    tmp_path: Path, s3_server: S3Server
) -> None:
    broker = BrokerProcess(tmp_path, options(s3_server))
    broker.start()
    try:
        produce(broker.bootstrap)
        assert consume(broker.bootstrap) == RECORDS
        broker.kill()
        broker.start()
        assert consume(broker.bootstrap) == RECORDS
    finally:
        broker.stop()
    store = open_store(s3_server.settings("broker-on-s3"), SystemClock())
    objects = [meta async for page in store.list("wal/") for meta in page]
    await store.close()
    assert sum(meta.byte_length for meta in objects) > sum(map(len, RECORDS))
    assert not list(tmp_path.rglob("wal/*"))

"""What is no longer kept really leaves the disk, and nothing else does."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from clients.confluent_client import QUIET, SECONDS_MAX, create_topic
from inkless.protocol.error_codes import ErrorCode
from inkless.records.decode import decode_run
from inkless.storage.keys import wal_key
from support.broker_process import BrokerProcess, running_broker
from support.bystander import batch_of
from support.raw_client import RawClient

QUICK = {
    "log.retention.hours": "-1",
    "log.retention.check.interval.ms": "200",
    "inkless.file.cleaner.interval.ms": "200",
    "inkless.file.cleaner.grace.ms": "500",
    "inkless.orphan.check.interval.ms": "2560",
    "inkless.orphan.age.ms": "60000",
}
DAY_S = 86_400
WAIT_S_MAX = 40.0


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path, QUICK) as running:
        yield running


@pytest.fixture
def objects(broker: BrokerProcess, tmp_path: Path) -> Path:
    return tmp_path / "data" / "objects"


def stored(objects: Path) -> set[str]:
    """The keys of all objects."""
    return {
        str(path.relative_to(objects))
        for path in objects.rglob("*")
        if path.is_file() and ".incoming" not in path.parts
    }


def wait_until(holds: Callable[[], bool], broker: BrokerProcess) -> None:
    deadline = time.monotonic() + WAIT_S_MAX
    while not holds():
        assert time.monotonic() < deadline, broker.log_tail()
        time.sleep(0.1)


def now_ms() -> int:
    return int(time.time() * 1000)


def test_records_past_retention_leave_the_disk_and_the_log_start_moves(
    broker: BrokerProcess, objects: Path
) -> None:
    create_topic(broker.bootstrap, "short", retention_ms="1500")
    create_topic(broker.bootstrap, "small", retention_bytes="1")
    create_topic(broker.bootstrap, "compacted", retention_ms="1500", cleanup_policy="compact")
    create_topic(broker.bootstrap, "kept")
    with RawClient(broker.port) as client:
        client.produce("kept", 0, batch_of(b"stays"))
        client.produce("compacted", 0, batch_of(b"stays too"))
        kept = stored(objects)
        for topic in ("short", "small"):
            for _ in range(3):
                client.produce(topic, 0, batch_of(b"one", b"two", timestamp_ms=now_ms()))
        assert len(stored(objects)) == len(kept) + 6
        client.produce("small", 0, batch_of(b"last"))

        def log_start(topic: str) -> int:
            return client.fetch(topic, 0, client.fetch(topic, 0, 0).high_watermark).log_start_offset

        wait_until(lambda: (log_start("short"), log_start("small")) == (6, 6), broker)
        wait_until(lambda: len(stored(objects)) == len(kept) + 1, broker)
        assert kept < stored(objects)
        assert client.fetch("short", 0, 0).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        for topic, offset, value in [
            ("kept", 0, b"stays"),
            ("compacted", 0, b"stays too"),
            ("small", 6, b"last"),
        ]:
            fetched = client.fetch(topic, 0, offset)
            (record,) = decode_run(memoryview(b"".join(fetched.records or ())))
            assert record.value == value
        assert client.produce("short", 0, batch_of(b"more", timestamp_ms=now_ms())).base_offset == 6


def test_objects_of_a_deleted_topic_leave_the_disk(broker: BrokerProcess, objects: Path) -> None:
    for topic in ("gone", "kept"):
        create_topic(broker.bootstrap, topic)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, **QUIET})
    with RawClient(broker.port) as client:
        client.produce("kept", 0, batch_of(b"stays"))
        kept = stored(objects)
        client.produce("gone", 0, batch_of(b"goes"))
        assert len(stored(objects)) == len(kept) + 1
        admin.delete_topics(["gone"])["gone"].result(SECONDS_MAX)
        wait_until(lambda: stored(objects) == kept, broker)


def test_old_orphans_leave_the_disk_and_what_is_not_ours_stays(broker: BrokerProcess, objects: Path) -> None:
    create_topic(broker.bootstrap, "kept")
    with RawClient(broker.port) as client:
        client.produce("kept", 0, batch_of(b"stays"))
    (committed,) = stored(objects)
    orphan, young = wal_key(b"\x00orphan-by-hand!"), wal_key(b"\x80orphan-by-hand!")
    foreign = {"wal/00/notes.txt", "wal/ff/" + "f" * 31, "tables/part-0.parquet", "wal/readme"}
    for key in (orphan, young, *foreign):
        path = objects / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 100)
    for key in (orphan, committed, *foreign):
        os.utime(objects / key, (time.time() - DAY_S, time.time() - DAY_S))
    wait_until(lambda: orphan not in stored(objects), broker)
    # A whole round later nothing else has gone.
    time.sleep(4)
    assert stored(objects) == {committed, young, *foreign}


def test_garbage_left_by_a_killed_broker_is_deleted_by_its_successor(tmp_path: Path) -> None:
    # The successor has another port, so it waits for the lease of the node id.
    options = QUICK | {"inkless.broker.lease.ms": "1000"}
    slow = options | {"inkless.file.cleaner.interval.ms": "3600000"}
    with BrokerProcess(tmp_path, slow) as broker:
        create_topic(broker.bootstrap, "short", retention_ms="500")
        with RawClient(broker.port) as client:
            client.produce("short", 0, batch_of(b"one"))
        assert len(stored(tmp_path / "data" / "objects")) == 1
        broker.kill()
    with running_broker(tmp_path, options) as broker:
        wait_until(lambda: not stored(tmp_path / "data" / "objects"), broker)

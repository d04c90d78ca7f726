"""The promise of wire compatibility: whoever wrote it and however it was compressed, everybody reads it."""

import dataclasses
import time
from collections.abc import Callable

import pytest

from clients.expected_records import CODECS, ReadRecord, expected_in
from clients.roster import CLIENTS, Client, load
from inkless.records.header import iter_headers
from support.broker_process import BrokerProcess
from support.raw_client import RawClient

Written = Callable[[str], tuple[Client, str]]


@pytest.fixture(scope="session")
def written(broker: BrokerProcess, new_topic_name: Callable[[str], str]) -> Written:
    """The client of a module and the topic it has written; it writes only once for all readers."""
    topics: dict[str, str] = {}

    def written_by(module: str) -> tuple[Client, str]:
        client = load(module)
        if module not in topics:
            topic = new_topic_name(f"by-{client.name}")
            client.write(broker.bootstrap, topic)
            topics[module] = topic
        return client, topics[module]

    return written_by


def _timeless(read: ReadRecord) -> ReadRecord:
    return dataclasses.replace(read, record=dataclasses.replace(read.record, timestamp_ms=0))


@pytest.mark.parametrize("writer_module", CLIENTS)
@pytest.mark.parametrize("reader_module", CLIENTS)
def test_every_record_comes_back(
    broker: BrokerProcess, written: Written, writer_module: str, reader_module: str
) -> None:
    reader = load(reader_module)
    writer, topic = written(writer_module)
    expected = expected_in(writer.codecs, writer.records)
    read = sorted(
        reader.read(broker.bootstrap, topic, len(expected)), key=lambda each: (each.partition, each.offset)
    )
    if not writer.states_timestamps:
        now_ms = time.time_ns() // 1_000_000
        assert all(now_ms - 600_000 < each.record.timestamp_ms <= now_ms for each in read)
        read, expected = [_timeless(each) for each in read], [_timeless(each) for each in expected]
    assert read == expected


@pytest.mark.parametrize("writer_module", CLIENTS)
def test_batches_are_kept_in_the_codec_of_their_writer(
    broker: BrokerProcess, written: Written, writer_module: str
) -> None:
    writer, topic = written(writer_module)
    with RawClient(broker.port) as raw:
        for codec in writer.codecs:
            fetched = raw.fetch(topic, CODECS.index(codec), 0)
            run = memoryview(b"".join(fetched.records or ()))
            seen = {CODECS[header.codec_id] for _, header in iter_headers(run)}
            # Clients leave a batch alone when compressing would make it larger.
            assert codec in seen <= {codec, "none"}

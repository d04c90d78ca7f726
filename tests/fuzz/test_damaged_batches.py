"""Batches that are signed but wrong: what is let in must leave the partition readable and dense (I2)."""

import os

import pytest
from crc32c import crc32c
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clients.confluent_client import create_topic
from inkless.protocol.error_codes import ErrorCode
from inkless.records.header import (
    ATTRIBUTES_AT,
    CRC_AT,
    HEADER_BYTES,
    MAGIC_V2,
    iter_headers,
)
from support.broker_process import BrokerProcess
from support.bystander import batch_of
from support.raw_client import RawClient

TOPIC = "damaged"
EXAMPLES = settings(
    max_examples=int(os.environ.get("INKLESS_FUZZ_EXAMPLES", "20")) * 5,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
DAMAGE = st.lists(
    st.tuples(st.integers(0, HEADER_BYTES + 10), st.sampled_from([0x00, 0x01, 0x7F, 0x80, 0xFF])), max_size=3
)


@pytest.fixture(scope="session")
def damaged_topic(attacked_broker: BrokerProcess) -> str:
    create_topic(attacked_broker.bootstrap, TOPIC)
    return TOPIC


@EXAMPLES
@given(damage=DAMAGE, batch_count=st.integers(1, 3), extra=st.binary(max_size=3))
def test_the_log_stays_readable_and_dense(
    broker: BrokerProcess, damaged_topic: str, damage: list[tuple[int, int]], batch_count: int, extra: bytes
) -> None:
    batch = bytearray(batch_of(b"one", b"two", b"three"))
    for place, byte in damage:
        batch[place] = byte
    # Signed again, so that only what the header says can give it away.
    batch[CRC_AT:ATTRIBUTES_AT] = crc32c(memoryview(batch)[ATTRIBUTES_AT:]).to_bytes(4, "big")
    with RawClient(broker.port) as client:
        before = client.fetch(damaged_topic, 0, 0).high_watermark
        produced = client.produce(damaged_topic, 0, bytes(batch) * batch_count + extra)
        fetched = client.fetch(damaged_topic, 0, before)
    assert fetched.error_code == ErrorCode.NONE
    run = memoryview(b"".join(fetched.records or ()))
    headers = [header for _, header in iter_headers(run)]
    if produced.error_code != ErrorCode.NONE:
        assert fetched.high_watermark == before
        assert headers == []
        return
    assert produced.base_offset == before
    expected_offset = before
    for header in headers:
        assert header.base_offset == expected_offset
        assert header.magic == MAGIC_V2
        assert header.record_count == header.offset_count
        expected_offset = header.last_offset + 1
    assert expected_offset == fetched.high_watermark

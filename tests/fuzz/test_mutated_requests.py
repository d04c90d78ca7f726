"""Requests of every API and version we serve, aimed at a real topic, then damaged a little."""

import dataclasses
import os
import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clients.confluent_client import create_topic
from inkless.protocol.api_keys import ApiKey
from inkless.protocol.messages import ApiVersionsRequest
from inkless.server.api_table import API_TABLE, ServedApi
from support.broker_process import BrokerProcess
from support.bystander import batch_of
from support.protocol_messages import messages
from support.raw_client import RawClient, encoded_request, framed

TARGET = "target"
MAY_KEEP_SILENT = {
    ApiKey.PRODUCE,  # acks=0
    ApiKey.FETCH,
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
}
"""Those that wait for something, or do not answer by design."""
ANSWER_SECONDS_MAX = 1.0
EXAMPLES = settings(
    max_examples=int(os.environ.get("INKLESS_FUZZ_EXAMPLES", "20")),
    deadline=None,
    database=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
        HealthCheck.large_base_example,
    ],
)

# Bytes that mean something in lengths, counts and flags.
TELLING_BYTES = st.sampled_from([0x00, 0x01, 0x7F, 0x80, 0xFF]) | st.integers(0, 255)


@pytest.fixture(scope="session")
def target(attacked_broker: BrokerProcess) -> str:
    create_topic(attacked_broker.bootstrap, TARGET, partitions=2)
    return TARGET


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("api", API_TABLE.values(), ids=lambda api: api.api_key.name)
@EXAMPLES
@given(data=st.data())
def test_whatever_is_sent_is_answered_or_refused(
    broker: BrokerProcess, api: ServedApi, data: st.DataObject
) -> None:
    version = data.draw(st.integers(api.version_min, api.version_max))
    # mypy does not know that classes can be hashed.
    message = data.draw(messages(api.request_class, version))  # type: ignore[arg-type]
    if data.draw(st.booleans()):
        message = _aimed(message)
    payload = bytearray(encoded_request(message, version))
    for place, byte in data.draw(
        st.lists(st.tuples(st.integers(0, len(payload) - 1), TELLING_BYTES), max_size=4)
    ):
        payload[place] = byte
    with RawClient(broker.port, timeout_s=ANSWER_SECONDS_MAX) as client:
        client.send(framed(bytes(payload)))
        try:
            client.receive_frame()
        except TimeoutError:
            (sent_key,) = struct.unpack_from(">h", payload)
            assert sent_key in MAY_KEEP_SILENT
    with RawClient(broker.port) as client:
        assert client.call(ApiVersionsRequest(), 0).api_keys


def _aimed(message: Any) -> Any:
    """The message with its topics, partitions and records replaced by such as exist."""
    aims: dict[str, Callable[[Any], Any]] = {
        "name": lambda _: TARGET,
        "topic": lambda _: TARGET,
        "topic_name": lambda _: TARGET,
        "resource_name": lambda _: TARGET,
        "resource_type": lambda _: 2,
        "index": lambda index: index % 2,
        "partition": lambda index: index % 2,
        "partition_index": lambda index: index % 2,
        "records": lambda _: memoryview(batch_of(b"aimed")),
        "transactional_id": lambda _: None,
        "acks": lambda acks: -1 if acks % 2 else 1,
        "max_wait_ms": lambda _: 0,
        # Topics of many partitions by the dozen would be a test of patience.
        "num_partitions": lambda count: count % 4,
    }
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(message):
        value = getattr(message, field.name)
        if field.name in aims and not isinstance(value, list):
            changes[field.name] = aims[field.name](value)
        elif dataclasses.is_dataclass(value):
            changes[field.name] = _aimed(value)
        elif isinstance(value, list) and value and dataclasses.is_dataclass(value[0]):
            changes[field.name] = [_aimed(each) for each in value]
    return dataclasses.replace(message, **changes)

"""Our bytes are those of kio and of kafka-python, for every message in every version."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.codec import encoder
from support.protocol_messages import ALL, EXAMPLES, VersionedMessage, messages
from support.protocol_oracles import kafka_python_bytes, kafka_python_old_bytes, kio_bytes

Oracle = Callable[[VersionedMessage, Any], bytes | None]

# What Kafka 4 removed, and old clients still send.
UNKNOWN_TO_KIO = {
    (ApiKey.PRODUCE, 0),
    (ApiKey.PRODUCE, 1),
    (ApiKey.PRODUCE, 2),
    (ApiKey.CREATE_TOPICS, 0),
    (ApiKey.CREATE_TOPICS, 1),
    (ApiKey.DELETE_TOPICS, 0),
    (ApiKey.DESCRIBE_CONFIGS, 0),
    (ApiKey.OFFSET_COMMIT, 0),
    (ApiKey.OFFSET_COMMIT, 1),
    (ApiKey.OFFSET_FETCH, 0),
}


def encode(which: VersionedMessage, message: Any) -> bytes:
    out = bytearray()
    encoder(which.message_class, which.version)(message, out)
    return bytes(out)


def unknown_to(oracle: Oracle) -> set[tuple[ApiKey, int]]:
    return {(which.api.key, which.version) for which in ALL if oracle(which, which.message_class()) is None}


def test_kio_knows_all_but_what_kafka_4_removed() -> None:
    assert unknown_to(kio_bytes) == UNKNOWN_TO_KIO


def test_kafka_python_knows_everything() -> None:
    assert unknown_to(kafka_python_bytes) == set()


def test_hand_written_kafka_python_classes_know_what_kio_does_not() -> None:
    assert not unknown_to(kafka_python_old_bytes) & UNKNOWN_TO_KIO


@pytest.mark.parametrize("which", ALL, ids=str)
@EXAMPLES
@given(data=st.data())
def test_bytes_are_those_of_other_libraries(which: VersionedMessage, data: st.DataObject) -> None:
    message = data.draw(messages(which.message_class, which.version))
    ours = encode(which, message)
    assert ours == kafka_python_bytes(which, message)
    if (which.api.key, which.version) in UNKNOWN_TO_KIO:
        assert ours == kafka_python_old_bytes(which, message)
    else:
        assert ours == kio_bytes(which, message)

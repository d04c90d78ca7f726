"""What this suite asks of a client, and which clients there are."""

import importlib
from collections.abc import Sequence
from typing import Protocol

import pytest

from clients.expected_records import ExpectedRecord, ReadRecord


class Client(Protocol):
    """One client library behind the two things that every one of them must be able to do.

    Writing uses whatever the library offers to state key, value, headers and timestamp; reading gives back
    what the library shows to its user, nothing that is repaired on the way.
    """

    name: str
    codecs: tuple[str, ...]
    """Those it can write. Reading takes all codecs."""
    records: tuple[ExpectedRecord, ...]
    """Those of the suite's records that it can state."""
    states_timestamps: bool
    """Whether its user can choose them; otherwise it takes the time of writing."""

    def write(self, bootstrap: str, topic: str) -> None:
        """Makes the topic with a partition per codec, and writes its records into each it can write."""
        ...

    def read(self, bootstrap: str, topic: str, count: int) -> Sequence[ReadRecord]:
        """All partitions from their beginnings, until `count` records are there; in any order."""
        ...


CLIENTS = (
    pytest.param("confluent_client", id="confluent-kafka"),
    pytest.param("kafka_python_client", id="kafka-python"),
    pytest.param("aiokafka_client", id="aiokafka"),
    pytest.param("kcat_client", id="kcat", marks=pytest.mark.kcat),
    pytest.param("kafkajs_client", id="kafkajs", marks=pytest.mark.node),
    pytest.param("java_client", id="java", marks=pytest.mark.java),
)


def load(module: str) -> Client:
    """The client of a module of this folder; skips the test when the machine does not have it."""
    client: Client = importlib.import_module(f"clients.{module}").client()
    return client

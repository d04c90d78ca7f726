"""Which broker coordinates a group."""

from collections.abc import Sequence
from zlib import crc32

from inkless.coordinator.types import BrokerRegistration


def coordinator_of(key: str, brokers: Sequence[BrokerRegistration]) -> BrokerRegistration:
    """One of the living brokers, given by id; the same one wherever and whenever the same ones are alive.

    A checksum, since Python's own hash of a text differs from process to process.
    """
    return brokers[crc32(key.encode()) % len(brokers)]

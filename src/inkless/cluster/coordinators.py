"""Which broker coordinates a group."""

from collections.abc import Sequence
from zlib import crc32

from inkless.coordinator.types import BrokerRegistration

_64_BITS = (1 << 64) - 1


def coordinator_of(key: str, brokers: Sequence[BrokerRegistration]) -> BrokerRegistration:
    """One of the living brokers; the same one wherever and whenever the same ones are alive.

    The one with the highest weight for the key (rendezvous hashing): a broker that goes gives away only its
    own groups, and one that comes takes its share and moves no others, so that each change of the cluster
    costs as few groups a rebalance as it can.
    """
    # A checksum, since Python's own hash of a text differs from process to process.
    key_hash = crc32(key.encode())
    return max(brokers, key=lambda broker: (_weight(key_hash, broker.broker_id), broker.broker_id))


def _weight(key_hash: int, broker_id: int) -> int:
    """The final mix of MurmurHash3 over both numbers, after which neither of them shows."""
    mixed = key_hash << 32 | broker_id
    mixed = (mixed ^ mixed >> 33) * 0xFF51AFD7ED558CCD & _64_BITS
    mixed = (mixed ^ mixed >> 33) * 0xC4CEB9FE1A85EC53 & _64_BITS
    return mixed ^ mixed >> 33

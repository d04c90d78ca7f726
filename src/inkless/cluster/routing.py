"""Which broker a client is told to be a partition's leader. Pure.

Every broker can serve every partition, so this decides about traffic and caches, never about data. A living
replica comes first; without one, a living broker chosen by a hash that all brokers agree on.
"""

from collections.abc import Sequence
from typing import NamedTuple

from inkless.coordinator.types import PartitionId
from inkless.records.murmur2 import murmur2


class Route(NamedTuple):
    """A partition as a client sees it; `in_sync` means alive, since there is nothing to be behind in."""

    leader_id: int
    in_sync: list[int]
    offline: list[int]


def route(partition: PartitionId, replicas: Sequence[int], living_ids: Sequence[int]) -> Route:
    """`living_ids` are sorted and not empty."""
    in_sync = [broker_id for broker_id in replicas if broker_id in living_ids]
    offline = [broker_id for broker_id in replicas if broker_id not in living_ids]
    leader_id = in_sync[0] if in_sync else living_ids[_hash(partition) % len(living_ids)]
    return Route(leader_id, in_sync or [leader_id], offline)


def _hash(partition: PartitionId) -> int:
    return abs(murmur2(partition.topic_id + b"-" + str(partition.index).encode()))

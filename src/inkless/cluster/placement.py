"""Which brokers are a partition's replicas: one in every rack, the least loaded there (seed "managed RF").

Pure. Replicas hold no data; they say where clients are routed first and who owns background work.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from inkless.coordinator.types import BrokerRegistration


def place_partitions(
    count: int, brokers: Sequence[BrokerRegistration], existing: Iterable[Sequence[int]]
) -> list[list[int]]:
    """Replicas for `count` new partitions. The first one, the leader, goes round the racks."""
    by_rack: dict[str | None, list[int]] = {}
    for broker in brokers:
        by_rack.setdefault(broker.rack, []).append(broker.broker_id)
    racks = sorted(by_rack, key=lambda rack: (rack is not None, rack or ""))
    load: Counter[int] = Counter()
    led: Counter[int] = Counter()
    for replicas in existing:
        load.update(replicas)
        led.update(replicas[:1])
    placed: list[list[int]] = []
    for _ in range(count):
        chosen = [min(by_rack[rack], key=lambda broker_id: (load[broker_id], broker_id)) for rack in racks]
        load.update(chosen)
        chosen.sort(key=lambda broker_id: (led[broker_id], broker_id))
        led[chosen[0]] += 1
        placed.append(chosen)
    return placed

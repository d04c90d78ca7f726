"""What recording producers sent, and what of it is stored."""

from collections.abc import Mapping, Sequence

from support.broker_cluster import wait_until
from support.recording_producer import Acknowledged, RecordingProducer


def wait_for_all_partitions(producers: Sequence[RecordingProducer], partition_count: int) -> None:
    """Until each has got an acknowledgement for each partition, of those that come from now on."""
    for producer in producers:
        seen = len(producer.acknowledged)

        def all_go_on(producer: RecordingProducer = producer, seen: int = seen) -> bool:
            return len({each.partition for each in producer.acknowledged[seen:]}) == partition_count

        wait_until(all_go_on, what=f"{producer.name} writes to all partitions", seconds_max=60)


def values_of(name: str, stored: Sequence[Sequence[bytes]]) -> list[list[bytes]]:
    return [[value for value in values if value.startswith(name.encode() + b" ")] for values in stored]


def sent_values(acknowledged: Sequence[Acknowledged], partition_count: int) -> list[list[bytes]]:
    """By partition, in the order of sending, which the number in each value tells."""
    by_partition: Mapping[int, list[bytes]] = {place: [] for place in range(partition_count)}
    for each in sorted(acknowledged, key=lambda each: int(each.value.split(b" ")[1])):
        by_partition[each.partition].append(each.value)
    return list(by_partition.values())


def assert_nothing_lost(producers: Sequence[RecordingProducer], stored: Sequence[Sequence[bytes]]) -> None:
    """Every acknowledged value is at its offset, and every value got an answer."""
    for producer in producers:
        assert producer.failures == []
        assert producer.unanswered_count == 0
        lost = [each for each in producer.acknowledged if stored[each.partition][each.offset] != each.value]
        assert lost == []

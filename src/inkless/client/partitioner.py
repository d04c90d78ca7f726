"""Which partition a record goes to when its sender does not say.

As the Java client does it: a key decides by its murmur2 hash; records without a key stay with one partition
until its batch is closed and then move on (KIP-480), which makes few large batches instead of many small.
"""

from inkless.clock import Entropy
from inkless.records.murmur2 import partition_for_key


class StickyPartitioner:
    """Remembers, for each topic, where records without a key go at present."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._current: dict[str, int] = {}

    def choose(self, topic: str, key: bytes | None, partition_count: int) -> int:
        if key is not None:
            return partition_for_key(key, partition_count)
        current = self._current.get(topic)
        if current is None or current >= partition_count:
            current = self._current[topic] = int(self._entropy.uniform() * partition_count)
        return current

    def batch_closed(self, topic: str, partition: int, partition_count: int) -> None:
        """The next records without a key go to another partition."""
        if partition_count > 1 and self._current.get(topic) == partition:
            step = 1 + int(self._entropy.uniform() * (partition_count - 1))
            self._current[topic] = (partition + step) % partition_count

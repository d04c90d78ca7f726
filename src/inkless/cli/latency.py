"""Percentiles of latencies, however many there are, in a few kilobytes."""

import math

LOWEST_MS = 0.01
BUCKETS_PER_DOUBLING = 32
DOUBLINGS = 27
"""From 10 microseconds to about 22 minutes; what is longer counts into the last bucket."""


class LatencyHistogram:
    """Buckets that grow by 2.2 % each: a percentile is wrong by less than that, the maximum is exact."""

    __slots__ = ("_buckets", "_count", "_max_ms", "_sum_ms")

    def __init__(self) -> None:
        self._buckets = [0] * (BUCKETS_PER_DOUBLING * DOUBLINGS)
        self._count = 0
        self._sum_ms = 0.0
        self._max_ms = 0.0

    @property
    def count(self) -> int:
        return self._count

    @property
    def max_ms(self) -> float:
        return self._max_ms

    @property
    def mean_ms(self) -> float:
        return self._sum_ms / self._count if self._count else 0.0

    def observe(self, latency_ms: float, count: int = 1) -> None:
        self._count += count
        self._sum_ms += latency_ms * count
        self._max_ms = max(self._max_ms, latency_ms)
        index = int(math.log2(latency_ms / LOWEST_MS) * BUCKETS_PER_DOUBLING) if latency_ms > LOWEST_MS else 0
        self._buckets[min(index, len(self._buckets) - 1)] += count

    def percentile(self, share: float) -> float:
        """The latency that `share` (0 to 1) of the observations do not exceed; 0 without any."""
        rank = math.ceil(share * self._count)
        seen = 0
        for index, count in enumerate(self._buckets):
            seen += count
            if count and seen >= rank:
                upper_ms = LOWEST_MS * 2 ** ((index + 1) / BUCKETS_PER_DOUBLING)
                return min(upper_ms, self._max_ms)
        return 0.0

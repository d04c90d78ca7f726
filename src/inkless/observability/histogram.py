"""Distributions that are cheap to add to."""

from bisect import bisect_left
from itertools import pairwise
from typing import NamedTuple

LATENCY_BOUNDS_S = (
    0.0005,
    0.001,
    0.002,
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    30.0,
)
"""From below the fastest local commit to the deadline of an upload."""

SIZE_BOUNDS_BYTES = tuple(4.0**power for power in range(5, 14))
"""From 1 KiB to 64 MiB."""


class Distribution(NamedTuple):
    """A histogram at one moment: how many values were at most each bound, how many in all, and their sum."""

    at_most: list[tuple[float, int]]
    observed: int
    total: float


class Histogram:
    """Counts of values by fixed upper bounds; a value equal to a bound belongs to it, as in Prometheus."""

    __slots__ = ("_bounds", "_counts", "_total")

    def __init__(self, bounds: tuple[float, ...] = LATENCY_BOUNDS_S) -> None:
        if not bounds or any(low >= high for low, high in pairwise(bounds)):
            raise ValueError("the bounds of a histogram must rise")
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._total = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._total += value

    def snapshot(self) -> Distribution:
        at_most = []
        count = 0
        for bound, here in zip(self._bounds, self._counts, strict=False):
            count += here
            at_most.append((bound, count))
        return Distribution(at_most, count + self._counts[-1], self._total)

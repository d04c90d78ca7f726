"""Retention: log starts move past what is too old or too much."""

from collections import deque
from collections.abc import Iterator

from inkless.clock import Clock
from inkless.cluster.directory import TopicDirectory, TopicEntry
from inkless.coordinator.contract import Housekeeping
from inkless.coordinator.types import PartitionId, RetentionLimit, RetentionResult
from inkless.housekeeping.chore import PAUSE_S
from inkless.housekeeping.counters import HousekeepingCounters
from inkless.protocol.error_codes import ErrorCode
from inkless.settings.housekeeping import HousekeepingSettings

_NO_LIMIT = -1


class RetentionChore:
    """Goes round all partitions whose topics delete, some of them with every step.

    A call may leave a partition unfinished, so those that moved are asked again, after all the others have
    had their turn. When that takes longer than the interval a new round begins, with the limits of then.
    """

    name = "retention"

    def __init__(
        self,
        settings: HousekeepingSettings,
        *,
        control_plane: Housekeeping,
        directory: TopicDirectory,
        clock: Clock,
        counters: HousekeepingCounters,
    ) -> None:
        self.interval_s = settings.retention_interval_ms / 1000
        self._partitions_max = settings.retention_partitions_max
        self._control_plane = control_plane
        self._directory = directory
        self._clock = clock
        self._counters = counters
        self._due: deque[RetentionLimit] = deque()
        self._unfinished: deque[RetentionLimit] = deque()
        self._log_starts: dict[PartitionId, int] = {}
        self._round_end = 0.0

    async def step(self) -> float:
        if not self._due and (not self._unfinished or self._clock.monotonic() >= self._round_end):
            await self._begin_round()
        turn = self._due or self._unfinished
        limits = [turn[position] for position in range(min(len(turn), self._partitions_max))]
        if limits:
            results = await self._control_plane.apply_retention(limits)
            for _ in limits:
                turn.popleft()
            self._unfinished += [
                limit for limit, result in zip(limits, results, strict=True) if self._has_moved(result)
            ]
        return PAUSE_S if self._due or self._unfinished else self.interval_s

    async def _begin_round(self) -> None:
        await self._directory.refresh()
        self._round_end = self._clock.monotonic() + self.interval_s
        now_ms = self._clock.now_ms()
        self._unfinished.clear()
        self._due = deque(limit for entry in self._directory.all() for limit in _limits(entry, now_ms))
        self._log_starts = {
            limit.partition: self._log_starts[limit.partition]
            for limit in self._due
            if limit.partition in self._log_starts
        }
        self._counters.retention_rounds += 1

    def _has_moved(self, result: RetentionResult) -> bool:
        if result.error is not ErrorCode.NONE:
            return False
        before = self._log_starts.get(result.partition)
        self._log_starts[result.partition] = result.log_start_offset
        if before is None:
            # Not known from an earlier call; to ask once more costs little.
            return result.log_start_offset > 0
        self._counters.log_starts_moved += result.log_start_offset > before
        return result.log_start_offset > before


def _limits(entry: TopicEntry, now_ms: int) -> Iterator[RetentionLimit]:
    configs = entry.configs
    keep_since_ms = _NO_LIMIT if configs.retention_ms < 0 else max(_NO_LIMIT, now_ms - configs.retention_ms)
    if configs.deletes and (keep_since_ms, configs.retention_bytes) != (_NO_LIMIT, _NO_LIMIT):
        for partition in entry.partitions:
            yield RetentionLimit(partition, keep_since_ms, configs.retention_bytes)

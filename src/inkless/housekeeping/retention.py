"""Retention: log starts move past what is too old or too much."""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice

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
        self._due: Iterator[RetentionLimit] = iter(())
        self._unfinished: deque[RetentionLimit] = deque()
        self._turn: Sequence[RetentionLimit] = ()
        self._log_starts: dict[PartitionId, int] = {}
        self._log_starts_before: dict[PartitionId, int] = {}
        self._round_end = 0.0

    async def step(self) -> float:
        if not self._turn:
            await self._begin_round()
            self._turn = self._next_turn()
        if self._turn:
            results = await self._control_plane.apply_retention(self._turn)
            self._unfinished += [
                limit for limit, result in zip(self._turn, results, strict=True) if self._has_moved(result)
            ]
            self._turn = self._next_turn()
        return PAUSE_S if self._turn or self._unfinished else self.interval_s

    async def _begin_round(self) -> None:
        await self._directory.refresh()
        self._round_end = self._clock.monotonic() + self.interval_s
        now_ms = self._clock.now_ms()
        # Taken as they are needed: a large cluster has more of them than can be made at once unnoticed.
        self._due = (limit for entry in self._directory.all() for limit in _limits(entry, now_ms))
        self._unfinished.clear()
        self._log_starts_before, self._log_starts = self._log_starts, {}
        self._counters.retention_rounds += 1

    def _next_turn(self) -> Sequence[RetentionLimit]:
        turn = list(islice(self._due, self._partitions_max))
        if not turn and self._clock.monotonic() < self._round_end:
            count = min(len(self._unfinished), self._partitions_max)
            turn = [self._unfinished.popleft() for _ in range(count)]
        return turn

    def _has_moved(self, result: RetentionResult) -> bool:
        if result.error is not ErrorCode.NONE:
            return False
        before = self._log_starts.get(result.partition, self._log_starts_before.get(result.partition))
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

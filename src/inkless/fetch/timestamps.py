"""From a timestamp to the exact record: the coordinator knows the run, the record is in its bytes."""

import asyncio
from collections.abc import Callable
from functools import partial

from inkless.coordinator.contract import BatchCoordinator
from inkless.coordinator.types import Coordinates, FindRequest, PartitionId, TimestampHit
from inkless.errors import RequestError
from inkless.fetch.reader import RunReader
from inkless.protocol.error_codes import ErrorCode
from inkless.records.search import TimestampedOffset, find_first_at_or_after, find_max_timestamp

_RUNS_SEARCHED_MAX = 1000


class TimestampSearch:
    """Looks records up by time; None where there is none.

    Batches may be compressed a thousandfold, so they are decoded in a thread, and one at a time: the memory
    that searches take does not grow with their number. Raises RequestError, Unavailable and CorruptData.
    """

    def __init__(self, coordinator: BatchCoordinator, reader: RunReader) -> None:
        self._coordinator = coordinator
        self._reader = reader
        self._decoding = asyncio.Semaphore(1)

    async def first_at_or_after(self, partition: PartitionId, timestamp_ms: int) -> TimestampedOffset | None:
        (hit,) = await self._coordinator.find_by_timestamp([(partition, timestamp_ms)])
        where = _found_in(hit)
        for _ in range(_RUNS_SEARCHED_MAX):
            if where is None:
                return None
            search = partial(
                find_first_at_or_after,
                base_offset=where.base_offset,
                timestamp_ms=timestamp_ms,
                offset_min=hit.log_start_offset,
            )
            found = await self._search(where, search)
            if found is not None:
                return found
            # The run's latest record was deleted with the log's start, or its header promised too much.
            where = await self._run_at(partition, where.end_offset)
        return None

    async def latest(self, partition: PartitionId) -> TimestampedOffset | None:
        """The record with the greatest timestamp, the first of several."""
        (hit,) = await self._coordinator.find_max_timestamp([partition])
        where = _found_in(hit)
        if where is None:
            return None
        search = partial(find_max_timestamp, base_offset=where.base_offset, offset_min=hit.log_start_offset)
        found = await self._search(where, search)
        if hit.log_start_offset > where.base_offset:
            # The record for which this run was chosen may have gone with the log's start.
            return await self._climb(partition, found)
        return found

    async def _climb(
        self, partition: PartitionId, found: TimestampedOffset | None
    ) -> TimestampedOffset | None:
        """From record to later record until there is none; each step begins where the last one ended."""
        for _ in range(_RUNS_SEARCHED_MAX):
            later = await self.first_at_or_after(partition, 0 if found is None else found.timestamp_ms + 1)
            if later is None:
                break
            found = later
        return found

    async def _search(
        self, where: Coordinates, search: Callable[[memoryview], TimestampedOffset | None]
    ) -> TimestampedOffset | None:
        run = await self._reader.read(where)
        async with self._decoding:
            return await asyncio.to_thread(search, run)

    async def _run_at(self, partition: PartitionId, offset: int) -> Coordinates | None:
        wanted = FindRequest(partition, offset, bytes_max=1)
        (result,) = await self._coordinator.find_batches([wanted], bytes_max=1)
        return result.coordinates[0] if result.coordinates else None


def _found_in(hit: TimestampHit) -> Coordinates | None:
    if hit.error is not ErrorCode.NONE:
        raise RequestError(hit.error)
    return hit.coordinates

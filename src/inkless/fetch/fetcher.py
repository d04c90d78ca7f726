"""Sequences the fetch path: find, wait where there is too little, read."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from inkless.clock import Clock
from inkless.coordinator.contract import BatchCoordinator
from inkless.coordinator.types import FindRequest, FindResult, PartitionId
from inkless.errors import CorruptData, Unavailable
from inkless.fetch.parking import ParkingLot
from inkless.fetch.plan import Plan, plan_reads
from inkless.fetch.reader import RunReader
from inkless.protocol.error_codes import ErrorCode
from inkless.settings import FetchSettings

_SHARES_OF_ROOM = 8
_PARTITION_BYTES_MIN = 64 * 1024
_SHARE_BYTES_MIN = 4 * 1024 * 1024
_OWN_LOOK_S_MIN = 1.0
"""A parked fetch is woken by commits, whoever sees them; should nobody, it looks for itself at last."""


class PartitionBytes(NamedTuple):
    """What one partition of a fetch gets: whole batches with their offsets in place, as views."""

    partition: PartitionId
    error: ErrorCode
    log_start_offset: int
    high_watermark: int
    records: Sequence[memoryview]


class Fetcher:
    """Answers fetches; stateless but for the parked ones."""

    def __init__(
        self,
        settings: FetchSettings,
        *,
        coordinator: BatchCoordinator,
        reader: RunReader,
        parking: ParkingLot,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._read_bytes_max = settings.cache_bytes_max // 2
        self._own_look_s = max(settings.poll_interval_ms / 1000, _OWN_LOOK_S_MIN)
        self._coordinator = coordinator
        self._reader = reader
        self._parking = parking
        self._clock = clock

    async def fetch(
        self, wanted: Sequence[FindRequest], *, bytes_max: int, bytes_min: int, wait_ms: int
    ) -> list[PartitionBytes]:
        """Answers in the order asked. Returns once `bytes_min` bytes are there, a partition is in error, or
        `wait_ms` have passed. Raises Unavailable when the coordinator does not answer."""
        bytes_max = max(0, min(bytes_max, self._response_bytes_max()))
        if not wanted:
            # A session without partitions still waits: its client would otherwise spin.
            await self._clock.sleep(min(wait_ms, self._settings.wait_max_ms) / 1000)
            return []
        found = await self._find_enough(wanted, bytes_max=bytes_max, bytes_min=bytes_min, wait_ms=wait_ms)
        return await self._read_if_there_is_room(found)

    def _response_bytes_max(self) -> int:
        """Responses become smaller as memory fills, so that slow consumers, however many, share what there is
        instead of taking it. Several fetches look at the same room at once, so none takes all of it."""
        share = max(self._reader.room.bytes_left // _SHARES_OF_ROOM, _SHARE_BYTES_MIN)
        return min(share, self._settings.response_bytes_max)

    async def _find_enough(
        self, wanted: Sequence[FindRequest], *, bytes_max: int, bytes_min: int, wait_ms: int
    ) -> list[FindResult]:
        wait_until = self._clock.monotonic() + min(wait_ms, self._settings.wait_max_ms) / 1000
        while True:
            # Parked before the find, so that a commit right after it is not missed.
            with self._parking.park(request.partition for request in wanted) as place:
                found = await self._find(wanted, bytes_max=bytes_max)
                left_s = wait_until - self._clock.monotonic()
                if left_s <= 0 or self._parking.closed or _is_enough(wanted, found, bytes_min):
                    return found
                await place.wait(min(left_s, self._own_look_s))

    async def _find(self, wanted: Sequence[FindRequest], *, bytes_max: int) -> list[FindResult]:
        """Every partition gets an equal share first, so that partitions written together are also read
        together, from the same objects. What is left goes to those whose batches are larger than that, or
        else to all that have more."""
        share = max(bytes_max // len(wanted), _PARTITION_BYTES_MIN)
        equal = [request._replace(bytes_max=min(request.bytes_max, share)) for request in wanted]
        found = await self._coordinator.find_batches(equal, bytes_max=bytes_max)
        if all(request.bytes_max <= share for request in wanted):
            return found
        left = bytes_max - sum(map(_byte_length, found))
        hungry = [place for place, request in enumerate(wanted) if _has_more(request, found[place])]
        empty = [place for place in hungry if not found[place].coordinates]
        if left <= (0 if empty else bytes_max // 2) or not hungry:
            return found
        again = [wanted[place] for place in empty or hungry]
        more = await self._coordinator.find_batches(again, bytes_max=left)
        if sum(map(_byte_length, more)) > left:
            # Every find gives a batch, however large; this response has some already.
            return found
        for place, result in zip(empty or hungry, more, strict=True):
            if result.coordinates:
                found[place] = result
        return found

    async def _read_if_there_is_room(self, found: Sequence[FindResult]) -> list[PartitionBytes]:
        """A fetch for which there is no memory in time gets no records, and its client comes back."""
        reader, room = self._reader, self._reader.room
        plan = plan_reads(
            found, unit_for=reader.unit_for, is_cached=reader.is_cached, bytes_max=self._read_bytes_max
        )
        if not await room.take(plan.byte_length, wait_s=self._settings.read_deadline_ms / 1000):
            return _by_partition([result._replace(coordinates=()) for result in found], [], {})
        try:
            return await self._read(plan)
        finally:
            room.give_back(plan.byte_length)

    async def _read(self, plan: Plan) -> list[PartitionBytes]:
        reader, units = self._reader, plan.units
        wanted = [where for result in plan.found for where in result.coordinates]
        views = [reader.cached(where, unit) for where, unit in zip(wanted, units, strict=True)]
        missing = [place for place, view in enumerate(views) if view is None]
        failures: dict[int, ErrorCode] = {}
        if missing:
            read = await asyncio.gather(
                *(reader.read(wanted[i], units[i]) for i in missing), return_exceptions=True
            )
            for i, outcome in zip(missing, read, strict=True):
                if isinstance(outcome, memoryview):
                    views[i] = outcome
                else:
                    failures[i] = _code_of(outcome)
        return _by_partition(plan.found, views, failures)


def _is_enough(wanted: Sequence[FindRequest], found: Sequence[FindResult], bytes_min: int) -> bool:
    """Whether waiting could bring nothing that matters: there are enough bytes, or an error to be told, or
    more than the byte limits let through, which are then smaller than the minimum."""
    for request, result in zip(wanted, found, strict=True):
        if result.error is not ErrorCode.NONE or _has_more(request, result):
            return True
    return sum(map(_byte_length, found)) >= max(1, bytes_min)


def _byte_length(result: FindResult) -> int:
    return sum([where.byte_end - where.byte_start for where in result.coordinates])


def _has_more(request: FindRequest, result: FindResult) -> bool:
    """Whether the partition has more than was found in it."""
    end_offset = result.coordinates[-1].end_offset if result.coordinates else request.offset
    return result.error is ErrorCode.NONE and end_offset < result.high_watermark


def _code_of(failure: BaseException) -> ErrorCode:
    if isinstance(failure, CorruptData):
        return ErrorCode.CORRUPT_MESSAGE
    if isinstance(failure, Unavailable):
        return ErrorCode.KAFKA_STORAGE_ERROR
    raise failure


def _by_partition(
    found: Sequence[FindResult], views: Sequence[memoryview | None], failures: dict[int, ErrorCode]
) -> list[PartitionBytes]:
    """What lies before a failed read is still returned: the reader comes back for the rest."""
    answers: list[PartitionBytes] = []
    place = 0
    for result in found:
        records: list[memoryview] = []
        error = result.error
        end = place + len(result.coordinates)
        for i in range(place, end):
            view = views[i]
            if view is None:
                error = failures[i] if not records else error
                break
            records.append(view)
        place = end
        answers.append(
            PartitionBytes(result.partition, error, result.log_start_offset, result.high_watermark, records)
        )
    return answers

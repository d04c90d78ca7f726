"""Storage and coordinator that fail now and then, by a seed, so that what was seen once can be seen again.

Both wrap a real part and keep its contract: what they add is only what the contract allows to happen. An
answer may come late, may be lost although the work was done, or may never come; bytes may come back damaged.
Probabilities are those of a single call and can be changed between calls, for a phase of faults that ends.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from inkless.clock import Clock, Entropy
from inkless.coordinator.contract import BatchCoordinator
from inkless.coordinator.types import (
    DeleteRecordsRequest,
    DeleteRecordsResult,
    FindRequest,
    FindResult,
    ObjectCommit,
    OffsetBounds,
    PartitionId,
    RunResult,
    TimestampHit,
)
from inkless.errors import Unavailable
from inkless.storage.contract import Buffer, ObjectMeta, ObjectStore

Answer = TypeVar("Answer")


class SeededEntropy:
    """Ids and numbers that are the same for the same seed, on every machine."""

    def __init__(self, seed: int | str) -> None:
        self._seed = str(seed).encode()
        self._drawn = 0

    def new_id(self) -> bytes:
        drawn = bytearray(self._draw())
        drawn[6] = drawn[6] & 0x0F | 0x40
        drawn[8] = drawn[8] & 0x3F | 0x80
        return bytes(drawn)

    def uniform(self) -> float:
        return int.from_bytes(self._draw()[:6], "big") / 2**48

    def below(self, end: int) -> int:
        """A whole number in [0, end)."""
        return int(self.uniform() * end)

    def _draw(self) -> bytes:
        self._drawn += 1
        number = self._drawn.to_bytes(8, "big")
        return hashlib.blake2b(number, key=self._seed[:64], digest_size=16).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFaults:
    """How one kind of call fails; the probabilities add up to 1 at most, the rest succeeds."""

    refused: float = 0.0
    """Fails, and nothing has happened."""
    lost: float = 0.0
    """Is carried out, and fails."""
    hangs: float = 0.0
    """Does nothing and never answers; only the caller's deadline ends it."""
    delay_s_max: float = 0.0
    """Every call takes between nothing and this long."""


NO_FAULTS = CallFaults()


class _Interference:
    """Decides about each call anew what befalls it."""

    def __init__(self, clock: Clock, entropy: Entropy) -> None:
        self._clock = clock
        self._entropy = entropy

    async def call(self, faults: CallFaults, carry_out: Callable[[], Awaitable[Answer]]) -> Answer:
        chance = self._entropy.uniform()
        if faults.delay_s_max:
            await self._clock.sleep(faults.delay_s_max * self._entropy.uniform())
        if chance < faults.hangs:
            await _hang()
        if chance < faults.hangs + faults.refused:
            raise Unavailable("a fault: the call was refused")
        answer = await carry_out()
        if chance < faults.hangs + faults.refused + faults.lost:
            raise Unavailable("a fault: the answer was lost")
        return answer


async def _hang() -> NoReturn:
    await asyncio.get_running_loop().create_future()
    raise AssertionError("nobody answers what hangs")


class FaultyStore:
    """An object store whose puts and reads fail by `put_faults` and `get_faults`.

    With the probability `damage` a read gives bytes of which one bit is wrong.
    """

    def __init__(self, store: ObjectStore, *, clock: Clock, entropy: Entropy) -> None:
        self._store = store
        self._entropy = entropy
        self._interference = _Interference(clock, entropy)
        self.put_faults = NO_FAULTS
        self.get_faults = NO_FAULTS
        self.damage = 0.0

    async def put(self, key: str, parts: Sequence[Buffer]) -> None:
        await self._interference.call(self.put_faults, lambda: self._store.put(key, parts))

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> memoryview:
        read = await self._interference.call(
            self.get_faults, lambda: self._store.get(key, start=start, end=end)
        )
        return self._damaged(read)

    async def get_into(self, key: str, start: int, target: memoryview) -> None:
        await self._interference.call(self.get_faults, lambda: self._store.get_into(key, start, target))
        target[:] = self._damaged(target)

    async def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        read = await self._interference.call(self.get_faults, lambda: self._store.get_ranges(key, ranges))
        return [self._damaged(each) for each in read]

    async def delete(self, keys: Sequence[str]) -> None:
        await self._store.delete(keys)

    def list(self, prefix: str) -> AsyncIterator[list[ObjectMeta]]:
        return self._store.list(prefix)

    async def close(self) -> None:
        await self._store.close()

    def _damaged(self, content: memoryview) -> memoryview:
        if not len(content) or self._entropy.uniform() >= self.damage:
            return content
        # Objects are shared by all who read them from a store in memory; only this reader's copy is spoiled.
        damaged = bytearray(content)
        bit = int(self._entropy.uniform() * len(damaged) * 8)
        damaged[bit // 8] ^= 1 << bit % 8
        return memoryview(damaged)


class FaultyCoordinator:
    """A batch coordinator whose commits fail by `commit_faults` and whose other calls by `find_faults`."""

    def __init__(self, coordinator: BatchCoordinator, *, clock: Clock, entropy: Entropy) -> None:
        self._coordinator = coordinator
        self._interference = _Interference(clock, entropy)
        self.commit_faults = NO_FAULTS
        self.find_faults = NO_FAULTS

    async def commit_objects(self, objects: Sequence[ObjectCommit]) -> list[list[RunResult]]:
        return await self._interference.call(
            self.commit_faults, lambda: self._coordinator.commit_objects(objects)
        )

    async def find_batches(self, requests: Sequence[FindRequest], *, bytes_max: int) -> list[FindResult]:
        return await self._find(lambda: self._coordinator.find_batches(requests, bytes_max=bytes_max))

    async def offset_bounds(self, partitions: Sequence[PartitionId]) -> list[OffsetBounds]:
        return await self._find(lambda: self._coordinator.offset_bounds(partitions))

    async def find_by_timestamp(self, lookups: Sequence[tuple[PartitionId, int]]) -> list[TimestampHit]:
        return await self._find(lambda: self._coordinator.find_by_timestamp(lookups))

    async def find_max_timestamp(self, partitions: Sequence[PartitionId]) -> list[TimestampHit]:
        return await self._find(lambda: self._coordinator.find_max_timestamp(partitions))

    async def delete_records(self, requests: Sequence[DeleteRecordsRequest]) -> list[DeleteRecordsResult]:
        return await self._find(lambda: self._coordinator.delete_records(requests))

    async def _find(self, carry_out: Callable[[], Awaitable[Answer]]) -> Answer:
        return await self._interference.call(self.find_faults, carry_out)

"""Faults happen as often as they should, do what they say, and the same seed makes the same ones."""

import asyncio

import pytest

from inkless.coordinator.types import PartitionId
from inkless.errors import Unavailable
from inkless.storage.contract import ObjectMissing
from inkless.storage.memory import MemoryStore
from inkless.testing.faults import CallFaults, FaultyCoordinator, FaultyStore, SeededEntropy
from simulation.model_coordinator import ModelCoordinator
from support.coordinator_commits import HandClock, new_topic_id, object_of, plain

CLOCK = HandClock()


def faulty_store(seed: int = 1) -> tuple[FaultyStore, MemoryStore]:
    stored = MemoryStore(CLOCK)
    return FaultyStore(stored, clock=CLOCK, entropy=SeededEntropy(seed)), stored


def test_the_same_seed_gives_the_same_numbers_and_ids() -> None:
    first, second, other = SeededEntropy(1), SeededEntropy(1), SeededEntropy(2)
    drawn = [(first.uniform(), first.new_id(), first.below(10)) for _ in range(20)]
    assert drawn == [(second.uniform(), second.new_id(), second.below(10)) for _ in range(20)]
    assert drawn != [(other.uniform(), other.new_id(), other.below(10)) for _ in range(20)]


def test_numbers_are_spread_and_ids_are_uuids() -> None:
    entropy = SeededEntropy("spread")
    numbers = [entropy.uniform() for _ in range(1000)]
    assert all(0 <= number < 1 for number in numbers)
    assert all(60 < sum(int(number * 10) == tenth for number in numbers) < 140 for tenth in range(10))
    ids = {entropy.new_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(each[6] >> 4 == 4 and each[8] >> 6 == 2 for each in ids)


async def test_without_faults_a_store_does_what_it_does() -> None:
    store, _ = faulty_store()
    await store.put("a/b", [b"12", b"34"])
    target = memoryview(bytearray(2))
    await store.get_into("a/b", 1, target)
    assert bytes(target) == b"23"
    assert bytes(await store.get("a/b", start=1, end=3)) == b"23"
    assert [bytes(each) for each in await store.get_ranges("a/b", [(0, 1), (3, 4)])] == [b"1", b"4"]
    assert [meta.key async for page in store.list("a/") for meta in page] == ["a/b"]
    await store.delete(["a/b"])
    with pytest.raises(ObjectMissing):
        await store.get("a/b")


async def test_a_refused_put_leaves_nothing_and_a_lost_one_everything() -> None:
    store, stored = faulty_store()
    store.put_faults = CallFaults(refused=1.0)
    with pytest.raises(Unavailable):
        await store.put("refused", [b"x"])
    store.put_faults = CallFaults(lost=1.0)
    with pytest.raises(Unavailable):
        await store.put("lost", [b"x"])
    assert list(stored._objects) == ["lost"]


async def test_a_call_that_hangs_ends_by_its_caller_s_deadline() -> None:
    store, stored = faulty_store()
    store.put_faults = CallFaults(hangs=1.0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await store.put("a", [b"x"])
    assert stored._objects == {}


async def test_a_call_takes_its_time() -> None:
    store, _ = faulty_store()
    before_ms = CLOCK.now_ms()
    store.put_faults = CallFaults(delay_s_max=100.0)
    await store.put("a", [b"x"])
    assert 0 < CLOCK.now_ms() - before_ms <= 100_000


async def test_faults_come_as_often_as_they_are_likely() -> None:
    async def outcomes(seed: int) -> list[bool]:
        store, _ = faulty_store(seed)
        store.put_faults = CallFaults(refused=0.2, lost=0.1)
        results = await asyncio.gather(
            *(store.put(f"k/{number}", [b"x"]) for number in range(500)), return_exceptions=True
        )
        return [result is None for result in results]

    assert 300 < sum(await outcomes(1)) < 400
    assert await outcomes(1) == await outcomes(1)
    assert await outcomes(1) != await outcomes(2)


async def test_damage_is_one_bit_of_what_was_read_and_nothing_of_what_is_stored() -> None:
    store, stored = faulty_store()
    content = bytes(range(200))
    await stored.put("a", [content])
    store.damage = 1.0
    for _ in range(10):
        read = bytes(await store.get("a"))
        difference = int.from_bytes(read, "big") ^ int.from_bytes(content, "big")
        assert difference.bit_count() == 1
    assert bytes(await stored.get("a")) == content


async def test_a_lost_commit_is_carried_out_and_a_refused_one_is_not() -> None:
    partition = PartitionId(0, new_topic_id(), 0)
    coordinator = FaultyCoordinator(
        ModelCoordinator([partition], clock=CLOCK), clock=CLOCK, entropy=SeededEntropy(1)
    )
    commit = object_of({partition: [plain(3)]})
    coordinator.commit_faults = CallFaults(refused=1.0)
    with pytest.raises(Unavailable):
        await coordinator.commit_objects([commit])
    assert (await coordinator.offset_bounds([partition]))[0].high_watermark == 0
    coordinator.commit_faults = CallFaults(lost=1.0)
    with pytest.raises(Unavailable):
        await coordinator.commit_objects([commit])
    assert (await coordinator.offset_bounds([partition]))[0].high_watermark == 3
    coordinator.find_faults = CallFaults(refused=1.0)
    with pytest.raises(Unavailable):
        await coordinator.offset_bounds([partition])

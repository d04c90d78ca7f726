import pytest

from inkless.coordinator.types import DeleteRecordsRequest, ObjectId, PartitionId
from inkless.errors import Unavailable
from inkless.housekeeping.chore import PAUSE_S
from support.housekeeping_parts import BATCH_BYTES, House

GRACE_MS = 1_000


async def released(house: House, count: int) -> list[str]:
    """Objects that nothing refers to, in the order in which that came about."""
    (partition,) = await house.topic("events")
    keys = []
    for offset in range(count):
        keys.append(await house.write(partition))
        await house.plane.delete_records([DeleteRecordsRequest(partition, offset + 1)])
        house.clock.ms += 1
    return keys


async def waiting(house: House) -> list[str]:
    return [
        each.key for each in await house.plane.unreferenced_objects(since_before_ms=1 << 60, count_max=99)
    ]


async def test_an_object_is_deleted_and_forgotten_after_the_grace_period(house: House) -> None:
    (key,) = await released(house, 1)
    garbage = house.garbage()
    house.clock.ms += GRACE_MS - 1
    assert await garbage.step() == garbage.interval_s
    assert house.store.keys == {key}
    house.clock.ms += 1
    assert await garbage.step() == garbage.interval_s
    assert (house.store.keys, await waiting(house)) == (set(), [])
    assert (house.counters.deleted_objects, house.counters.deleted_bytes) == (1, BATCH_BYTES)


async def test_an_object_that_somebody_refers_to_stays(house: House) -> None:
    first, second = await house.topic("events", 2)
    key = await house.write(first, second)
    await house.plane.delete_records([DeleteRecordsRequest(first, 1)])
    house.clock.ms += 10 * GRACE_MS
    await house.garbage().step()
    assert house.store.keys == {key}


async def test_full_batches_follow_each_other_at_once(house: House) -> None:
    await released(house, 9)
    house.clock.ms += GRACE_MS
    garbage = house.garbage()
    assert [await garbage.step() for _ in range(3)] == [PAUSE_S, PAUSE_S, garbage.interval_s]
    assert house.store.delete_sizes == [4, 4, 1]
    assert house.store.keys == set()


async def test_nothing_is_forgotten_that_may_still_be_in_storage(house: House) -> None:
    keys = await released(house, 4)
    house.clock.ms += GRACE_MS
    house.store.deletes_before_failure = 2
    garbage = house.garbage()
    with pytest.raises(Unavailable):
        await garbage.step()
    assert house.store.keys == set(keys[2:])
    assert await waiting(house) == keys
    house.store.deletes_before_failure = None
    while await garbage.step() != garbage.interval_s:
        pass
    assert (house.store.keys, await waiting(house)) == (set(), [])


async def test_one_object_that_cannot_be_deleted_does_not_keep_the_others(house: House) -> None:
    keys = await released(house, 9)
    house.store.undeletable = {keys[1]}
    house.clock.ms += GRACE_MS
    garbage = house.garbage()
    for _ in range(20):
        try:
            if await garbage.step() == garbage.interval_s:
                break
        except Unavailable:
            continue
    assert house.store.keys == {keys[1]}
    assert await waiting(house) == [keys[1]]
    house.store.undeletable = set()
    await garbage.step()
    assert house.store.keys == set()


async def test_batches_grow_again_after_a_failure(house: House) -> None:
    await released(house, 12)
    house.clock.ms += GRACE_MS
    house.store.deletes_before_failure = 0
    garbage = house.garbage()
    with pytest.raises(Unavailable):
        await garbage.step()
    house.store.deletes_before_failure = None
    while await garbage.step() != garbage.interval_s:
        pass
    assert house.store.delete_sizes == [4, 2, 4, 4, 2]


async def test_a_condemned_object_is_found_by_its_id(house: House) -> None:
    orphan = ObjectId(b"an orphan object")
    await house.upload(orphan)
    await house.plane.condemn_objects([orphan])
    house.clock.ms += GRACE_MS + 1
    await house.garbage().step()
    assert (house.store.keys, await waiting(house)) == (set(), [])


async def test_an_object_of_which_nothing_was_accepted_is_deleted(house: House) -> None:
    await house.write(PartitionId(0, (await house.topic("events"))[0].topic_id, 99))
    house.clock.ms += GRACE_MS + 1
    await house.garbage().step()
    assert house.store.keys == set()

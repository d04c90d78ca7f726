import pytest

from inkless.coordinator.types import ObjectId
from inkless.errors import Unavailable
from inkless.housekeeping.orphans import OrphanChore
from inkless.protocol.error_codes import ErrorCode
from support.housekeeping_parts import PREFIXES, House, a_commit

AGE_MS = 60_000
ORPHANS = [ObjectId(bytes([first]) + b"fifteen letters") for first in (0, 1, 128, 255)]


async def whole_round(orphans: OrphanChore) -> None:
    for _ in range(PREFIXES):
        await orphans.step()


async def condemned(house: House) -> set[ObjectId]:
    found = await house.plane.unreferenced_objects(since_before_ms=1 << 60, count_max=1_000)
    return {each.object_id for each in found}


async def test_a_round_finds_every_old_object_that_was_never_committed(house: House) -> None:
    (partition,) = await house.topic("events")
    await house.write(partition)
    for object_id in ORPHANS:
        await house.upload(object_id, 7)
    house.clock.ms += AGE_MS + 1
    await whole_round(house.orphans())
    assert await condemned(house) == set(ORPHANS)
    assert (house.counters.orphans_found, house.counters.orphan_bytes_found) == (4, 28)


async def test_it_deletes_nothing_itself(house: House) -> None:
    key = await house.upload(ORPHANS[0])
    house.clock.ms += AGE_MS + 1
    await whole_round(house.orphans())
    assert house.store.keys == {key}


async def test_young_objects_are_waited_for(house: House) -> None:
    await house.upload(ORPHANS[0])
    house.clock.ms += AGE_MS
    await whole_round(house.orphans())
    assert await condemned(house) == set()


async def test_what_is_not_named_as_one_of_ours_is_left_alone(house: House) -> None:
    foreign = ["wal/00/notes.txt", "wal/00/" + "0" * 31, "wal/00/01" + "0" * 30, "segments/" + "0" * 32]
    for key in foreign:
        await house.store.put(key, [b"x"])
    house.clock.ms += AGE_MS + 1
    await whole_round(house.orphans())
    assert await condemned(house) == set()


async def test_an_orphan_is_counted_once_however_often_it_is_found(house: House) -> None:
    await house.upload(ORPHANS[0])
    house.clock.ms += AGE_MS + 1
    orphans = house.orphans()
    await whole_round(orphans)
    await whole_round(orphans)
    assert house.counters.orphans_found == 1


async def test_a_listing_that_fails_is_tried_again_before_the_round_goes_on(house: House) -> None:
    for object_id in ORPHANS:
        await house.upload(object_id)
    house.clock.ms += AGE_MS + 1
    orphans = house.orphans()
    house.store.pages_before_failure = 0
    for _ in range(3):
        with pytest.raises(Unavailable):
            await orphans.step()
    house.store.pages_before_failure = None
    await whole_round(orphans)
    assert await condemned(house) == set(ORPHANS)


async def test_a_commit_that_comes_after_all_is_refused(house: House) -> None:
    (partition,) = await house.topic("events")
    late = a_commit(house.clock.ms, [partition], ORPHANS[0])
    await house.upload(late.object_id)
    house.clock.ms += AGE_MS + 1
    await whole_round(house.orphans())
    ((result,),) = await house.plane.commit_objects([late])
    assert result.errors == {0: ErrorCode.KAFKA_STORAGE_ERROR}
    assert await house.referenced([partition]) == set()

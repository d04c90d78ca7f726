import pytest

from inkless.coordinator.types import PartitionId
from inkless.errors import Unavailable
from inkless.housekeeping.chore import PAUSE_S
from inkless.housekeeping.retention import RetentionChore
from support.cluster_parts import BreakableControlPlane
from support.housekeeping_parts import BATCH_BYTES, House

HOUR_MS = 3_600_000
STEPS_MAX = 100


async def whole_round(chore: RetentionChore) -> int:
    """How many steps it took until there was nothing more to do."""
    for count in range(1, STEPS_MAX):
        if await chore.step() == chore.interval_s:
            return count
    raise AssertionError("the round does not end")


async def fill(house: House, *partitions: PartitionId, objects: int = 3) -> None:
    for _ in range(objects):
        await house.write(*partitions)


async def test_every_partition_of_a_topic_that_deletes_is_kept_to_its_limits(house: House) -> None:
    old = await house.topic("old", 3, retention_ms=str(HOUR_MS))
    large = await house.topic("large", 2, retention_bytes=str(BATCH_BYTES))
    both = await house.topic("both", cleanup_policy="compact,delete", retention_ms=str(HOUR_MS))
    await fill(house, *old, *large, *both)
    house.clock.ms += HOUR_MS + 1
    await house.write(*old)
    await whole_round(house.retention())
    assert [await house.log_start(each) for each in old] == [3, 3, 3]
    assert [await house.log_start(each) for each in large] == [2, 2]
    assert [await house.log_start(each) for each in both] == [3]


async def test_topics_that_only_compact_or_have_no_limit_are_left_alone(house: House) -> None:
    compacted = await house.topic("compacted", cleanup_policy="compact", retention_ms="1")
    endless = await house.topic("endless", retention_ms="-1")
    ancient = await house.topic("ancient", retention_ms=str(2**63 - 1))
    await fill(house, *compacted, *endless, *ancient)
    house.clock.ms += 1000 * 24 * HOUR_MS
    await whole_round(house.retention())
    assert [await house.log_start(each) for each in (*compacted, *endless, *ancient)] == [0, 0, 0]


async def test_a_step_asks_for_some_partitions_and_a_round_ends_when_all_have_been_asked(
    house: House,
) -> None:
    await house.topic("many", 5, retention_ms=str(HOUR_MS))
    chore = house.retention()
    assert await whole_round(chore) == 3
    assert await whole_round(chore) == 3
    assert house.counters.retention_rounds == 2


async def test_partitions_that_moved_are_asked_again_after_the_others(house: House) -> None:
    moving, *still = await house.topic("many", 5, retention_ms=str(HOUR_MS))
    chore = house.retention()
    await whole_round(chore)
    await fill(house, moving)
    house.clock.ms += HOUR_MS + 1
    await fill(house, *still)
    assert await whole_round(chore) == 3 + 1
    assert await house.log_start(moving) == 3
    assert house.counters.log_starts_moved == 1


async def test_changed_configs_count_from_the_next_round_on(house: House) -> None:
    (partition,) = await house.topic("events", retention_ms="-1")
    await fill(house, partition)
    chore = house.retention()
    house.clock.ms += HOUR_MS
    await whole_round(chore)
    assert await house.log_start(partition) == 0
    await house.plane.alter_topic_configs(partition.topic_id, {"retention.ms": "1"})
    await whole_round(chore)
    assert await house.log_start(partition) == 3


async def test_a_topic_that_was_deleted_meanwhile_does_not_stop_the_round(house: House) -> None:
    gone = await house.topic("a", 2, retention_ms="1")
    stays = await house.topic("b", 2, retention_ms="1")
    await fill(house, *gone, *stays)
    chore = house.retention()
    house.clock.ms += 10
    await house.directory.refresh()
    await chore.step()
    await house.plane.delete_topic(gone[0].topic_id)
    await whole_round(chore)
    assert [await house.log_start(each) for each in stays] == [3, 3]


async def test_a_step_that_failed_is_taken_again_with_the_same_partitions(house: House) -> None:
    logs = await house.topic("many", 5, retention_ms=str(HOUR_MS))
    await fill(house, *logs)
    link = BreakableControlPlane(house.plane)
    chore = RetentionChore(
        house.settings,
        control_plane=link,
        directory=house.directory,
        clock=house.clock,
        counters=house.counters,
    )
    house.clock.ms += HOUR_MS + 1
    await chore.step()
    link.is_down = True
    for _ in range(3):
        with pytest.raises(Unavailable):
            await chore.step()
    link.is_down = False
    await whole_round(chore)
    assert [await house.log_start(each) for each in logs] == [3] * 5
    assert house.counters.retention_rounds == 1


async def test_a_round_that_takes_too_long_is_followed_by_another_at_once(house: House) -> None:
    first, *_ = await house.topic("many", 3, retention_bytes="0", retention_ms="-1")
    chore = house.retention()
    await whole_round(chore)
    await house.write(first)
    assert await chore.step() == PAUSE_S
    house.clock.ms += int(chore.interval_s * 1000)
    assert await chore.step() == PAUSE_S
    assert house.counters.retention_rounds == 2
    await house.write(first)
    assert await chore.step() == PAUSE_S
    assert house.counters.retention_rounds == 3
    assert await house.log_start(first) == 2

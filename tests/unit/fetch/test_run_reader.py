"""Young objects are read once for all, old ones by range, and nothing damaged is ever handed out."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inkless.coordinator.types import Coordinates, FindRequest
from inkless.errors import CorruptData, Unavailable
from inkless.fetch.cache import ObjectCache
from inkless.records.header import MAGIC_AT, iter_headers
from inkless.testing.faults import CallFaults
from support.data_path_broker import BYTES_MAX, DataPathBroker, batch_of, data_path_broker

BATCHES = [batch_of(1, 2), batch_of(3), batch_of(4, 5, 6)]


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[DataPathBroker]:
    async with data_path_broker(tmp_path, overrides={"inkless.consume.read.deadline.ms": "20"}) as made:
        yield made


async def stored_runs(broker: DataPathBroker) -> list[Coordinates]:
    """One object with a run for each of two partitions, of which nothing is in memory."""
    entry = await broker.create("orders", 2)
    await asyncio.gather(*(broker.produce_to(entry, index, *BATCHES) for index in (0, 1)))
    broker.forget_objects()
    wanted = [FindRequest(partition, 0, BYTES_MAX) for partition in entry.partitions]
    found = await broker.context.control_plane.find_batches(wanted, bytes_max=BYTES_MAX)
    runs = [where for result in found for where in result.coordinates]
    assert len(runs) == 2
    assert len({where.key for where in runs}) == 1
    return runs


def grown_old(where: Coordinates) -> Coordinates:
    return where._replace(committed_ms=0)


def tail_of(where: Coordinates) -> Coordinates:
    """Without the run's first batch."""
    return where._replace(byte_start=where.byte_start + len(BATCHES[0]), base_offset=where.base_offset + 2)


def placed(run: memoryview) -> list[tuple[int, int, bytes]]:
    """Base offset, leader epoch and what the producer made, of each batch."""
    return [
        (
            header.base_offset,
            header.leader_epoch,
            bytes(run[position + MAGIC_AT : position + header.byte_length]),
        )
        for position, header in iter_headers(run)
    ]


EXPECTED = [(offset, 0, batch[MAGIC_AT:]) for offset, batch in zip((0, 2, 3), BATCHES, strict=True)]


async def test_a_young_object_is_read_once_for_all_its_partitions(broker: DataPathBroker) -> None:
    runs = await stored_runs(broker)
    reader = broker.context.reader
    read = await asyncio.gather(*(reader.read(where) for where in [*runs, *map(tail_of, runs), *runs]))
    assert [placed(run) for run in read] == [EXPECTED] * 2 + [EXPECTED[1:]] * 2 + [EXPECTED] * 2
    assert (reader.counters.hot_reads, reader.counters.cold_reads) == (1, 0)
    assert reader.counters.read_bytes == runs[0].object_byte_length


async def test_an_old_object_is_read_by_range_and_not_kept(broker: DataPathBroker) -> None:
    runs = await stored_runs(broker)
    reader = broker.context.reader
    for _ in range(2):
        assert placed(await reader.read(grown_old(runs[1]))) == EXPECTED
        assert placed(await reader.read(grown_old(tail_of(runs[1])))) == EXPECTED[1:]
    assert (reader.counters.hot_reads, reader.counters.cold_reads) == (0, 4)
    assert runs[1].key not in broker.cache
    assert broker.cache.bytes_used == 0


async def test_only_part_of_a_young_run_is_given_when_only_part_is_asked_for(broker: DataPathBroker) -> None:
    (where, _) = await stored_runs(broker)
    first = where._replace(byte_end=where.byte_start + len(BATCHES[0]), end_offset=2)
    assert placed(await broker.context.reader.read(first)) == EXPECTED[:1]
    old = grown_old(first)
    broker.forget_objects()
    assert placed(await broker.context.reader.read(old)) == EXPECTED[:1]


@pytest.mark.parametrize("is_old", [False, True])
async def test_damaged_bytes_are_never_handed_out_and_always_counted(
    broker: DataPathBroker, is_old: bool
) -> None:
    runs = await stored_runs(broker)
    if is_old:
        runs = list(map(grown_old, runs))
    broker.damage_objects()
    reader = broker.context.reader
    for fetches in (1, 2):
        assert placed(await reader.read(runs[0])) == EXPECTED
        with pytest.raises(CorruptData):
            await reader.read(runs[1])
        # A second copy is asked for before a client is told.
        assert reader.counters.corrupt_runs == 2 * fetches


@pytest.mark.parametrize("is_old", [False, True])
async def test_whatever_bit_is_wrong_the_bytes_are_right_or_refused(
    broker: DataPathBroker, is_old: bool
) -> None:
    (where, _) = await stored_runs(broker)
    where = grown_old(where) if is_old else where
    reader = broker.context.reader
    broker.store.damage = 0.8
    refused = 0
    for _ in range(40):
        broker.forget_objects()
        try:
            assert placed(await reader.read(where)) == EXPECTED
        except CorruptData:
            refused += 1
    assert 0 < refused < 40
    assert reader.counters.corrupt_runs > 2 * refused


async def test_a_copy_that_was_damaged_on_its_way_is_replaced_without_the_client_s_knowledge(
    broker: DataPathBroker,
) -> None:
    intact, damaged = await stored_runs(broker)
    content = broker.stored._objects[damaged.key]
    broker.damage_objects()
    assert placed(await broker.context.reader.read(intact)) == EXPECTED
    assert damaged.key in broker.cache
    broker.stored._objects[damaged.key] = content
    assert placed(await broker.context.reader.read(damaged)) == EXPECTED
    assert broker.context.reader.counters.corrupt_runs == 1


@pytest.mark.parametrize("is_old", [False, True])
async def test_an_object_that_is_too_short_is_corrupt_and_counted(
    broker: DataPathBroker, is_old: bool
) -> None:
    (_, where) = await stored_runs(broker)
    content, modified_ms = broker.stored._objects[where.key]
    broker.stored._objects[where.key] = (content[:-1], modified_ms)
    with pytest.raises(CorruptData):
        await broker.context.reader.read(grown_old(where) if is_old else where)
    assert broker.context.reader.counters.corrupt_runs == 2


@pytest.mark.parametrize("is_old", [False, True])
async def test_an_object_that_is_gone_is_to_be_looked_up_again(broker: DataPathBroker, is_old: bool) -> None:
    (where, _) = await stored_runs(broker)
    await broker.stored.delete([where.key])
    with pytest.raises(Unavailable):
        await broker.context.reader.read(grown_old(where) if is_old else where)
    assert broker.context.reader.counters.missing_objects == 1


@pytest.mark.parametrize("is_old", [False, True])
async def test_a_store_that_hangs_is_given_up_on(broker: DataPathBroker, is_old: bool) -> None:
    (where, _) = await stored_runs(broker)
    where = grown_old(where) if is_old else where
    broker.store.get_faults = CallFaults(hangs=1.0)
    with pytest.raises(Unavailable):
        await broker.context.reader.read(where)
    broker.store.get_faults = CallFaults()
    assert placed(await broker.context.reader.read(where)) == EXPECTED


async def test_a_failed_read_fails_for_all_who_share_it_and_for_nobody_after(broker: DataPathBroker) -> None:
    runs = await stored_runs(broker)
    reader = broker.context.reader
    broker.store.get_faults = CallFaults(refused=1.0)
    outcomes = await asyncio.gather(*(reader.read(where) for where in runs), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Unavailable, Unavailable]
    broker.store.get_faults = CallFaults()
    assert placed(await reader.read(runs[0])) == EXPECTED


async def test_old_objects_do_not_take_the_reads_of_young_ones(tmp_path: Path) -> None:
    limits = {"inkless.consume.cold.read.concurrency": "1", "inkless.consume.hot.read.concurrency": "1"}
    async with data_path_broker(tmp_path, overrides=limits) as broker:
        runs = await stored_runs(broker)
        reader = broker.context.reader
        broker.store.get_faults = CallFaults(hangs=1.0)
        stuck = [asyncio.ensure_future(reader.read(grown_old(runs[0]))) for _ in range(3)]
        while not reader._cold_slots.locked():
            await asyncio.sleep(0)
        broker.store.get_faults = CallFaults()
        assert placed(await reader.read(runs[0])) == EXPECTED
        for each in stuck:
            each.cancel()
        await asyncio.gather(*stuck, return_exceptions=True)


async def test_memory_comes_back_when_the_last_view_is_gone(broker: DataPathBroker) -> None:
    (where, _) = await stored_runs(broker)
    reader = broker.context.reader
    leased_before = reader.room.bytes_left
    view: memoryview | None = await reader.read(grown_old(where))
    assert reader.room.bytes_left < leased_before
    del view
    assert reader.room.bytes_left == leased_before


def test_a_forgotten_object_is_not_in_the_cache() -> None:
    cache = ObjectCache(bytes_max=1 << 20, written_share=0.5)
    cache.forget("never seen")
    assert cache.bytes_used == 0

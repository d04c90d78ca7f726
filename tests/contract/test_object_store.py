"""What every object store promises, asked of every one of them."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from inkless.clock import SystemClock
from inkless.errors import CorruptData, InvariantViolated, Unavailable
from inkless.storage.contract import ObjectMeta, ObjectMissing, ObjectStore
from inkless.storage.open import open_store
from inkless.storage.settings import StorageSettings

MIB = 1 << 20


def _folder(request: pytest.FixtureRequest, *, fsync: bool) -> StorageSettings:
    folder: Path = request.getfixturevalue("tmp_path")
    return StorageSettings(url=f"file://{folder}/objects", fsync=fsync, threads_max=4)


def _s3(request: pytest.FixtureRequest) -> StorageSettings:
    settings: StorageSettings = request.getfixturevalue("s3_server").settings(
        f"contract/{os.urandom(8).hex()}"
    )
    return settings


STORES: list[Any] = [
    pytest.param(lambda _: StorageSettings(url="memory://"), id="memory"),
    pytest.param(lambda request: _folder(request, fsync=True), id="folder"),
    pytest.param(lambda request: _folder(request, fsync=False), id="folder-without-fsync"),
    pytest.param(_s3, id="s3", marks=pytest.mark.s3),
]


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest) -> AsyncIterator[ObjectStore]:
    settings_of: Callable[[pytest.FixtureRequest], StorageSettings] = request.param
    opened = open_store(settings_of(request), SystemClock())
    yield opened
    await opened.close()


async def listed(store: ObjectStore, prefix: str) -> dict[str, ObjectMeta]:
    return {meta.key: meta async for page in store.list(prefix) for meta in page}


async def test_an_object_is_its_parts_one_behind_the_other(store: ObjectStore) -> None:
    await store.put("wal/aa/one", [b"abc", bytearray(b"de"), memoryview(b"_fgh_")[1:4]])
    assert bytes(await store.get("wal/aa/one")) == b"abcdefgh"


async def test_a_get_without_an_end_goes_to_the_end_of_the_object(store: ObjectStore) -> None:
    await store.put("one", [b"abcdef"])
    assert bytes(await store.get("one", start=4)) == b"ef"


async def test_a_range_is_half_open(store: ObjectStore) -> None:
    await store.put("one", [b"abcdef"])
    assert bytes(await store.get("one", start=1, end=3)) == b"bc"
    assert bytes(await store.get("one", start=0, end=6)) == b"abcdef"
    assert bytes(await store.get("one", start=2, end=2)) == b""


async def test_get_into_fills_exactly_the_target(store: ObjectStore) -> None:
    await store.put("one", [b"abcdef"])
    buffer = bytearray(b"........")
    await store.get_into("one", 2, memoryview(buffer)[3:6])
    assert buffer == b"...cde.."


async def test_ranges_come_back_in_the_order_asked(store: ObjectStore) -> None:
    data = os.urandom(3 * MIB)
    await store.put("one", [data])
    ranges = [(2 * MIB, 2 * MIB + 5), (0, 10), (7, 7), (5, 20), (3 * MIB - 1, 3 * MIB)]
    found = await store.get_ranges("one", ranges)
    assert [bytes(piece) for piece in found] == [data[start:end] for start, end in ranges]


async def test_no_ranges_give_no_pieces(store: ObjectStore) -> None:
    await store.put("one", [b"abc"])
    assert await store.get_ranges("one", []) == []


@pytest.mark.parametrize("parts", [[], [b""], [b"", b""]], ids=["none", "one", "two"])
async def test_an_object_may_be_empty(store: ObjectStore, parts: list[bytes]) -> None:
    await store.put("empty", parts)
    assert bytes(await store.get("empty")) == b""
    assert (await listed(store, ""))["empty"].byte_length == 0


async def test_empty_parts_between_others_leave_no_trace(store: ObjectStore) -> None:
    await store.put("one", [b"", b"ab", b"", b"", b"c", b""])
    assert bytes(await store.get("one")) == b"abc"


async def test_more_parts_than_one_system_call_takes(store: ObjectStore) -> None:
    parts = [index.to_bytes(3) for index in range(5000)]
    await store.put("many", parts)
    assert bytes(await store.get("many")) == b"".join(parts)


async def test_a_large_object_survives_whole(store: ObjectStore) -> None:
    data = os.urandom(20 * MIB + 7)
    await store.put("large", [memoryview(data)[: 9 * MIB], memoryview(data)[9 * MIB :]])
    assert await store.get("large") == data
    target = bytearray(11 * MIB)
    await store.get_into("large", 5 * MIB, memoryview(target))
    assert target == data[5 * MIB : 16 * MIB]


async def test_puts_at_the_same_time_do_not_mix(store: ObjectStore) -> None:
    contents = {f"wal/{index % 4:02x}/{index}": os.urandom(64 * 1024 + index) for index in range(40)}
    await asyncio.gather(*(store.put(key, [data[:100], data[100:]]) for key, data in contents.items()))
    found = await asyncio.gather(*(store.get(key) for key in contents))
    assert [bytes(data) for data in found] == list(contents.values())


async def test_a_second_put_succeeds_and_changes_nothing(store: ObjectStore) -> None:
    await store.put("one", [b"first"])
    await store.put("one", [b"second"])
    assert bytes(await store.get("one")) == b"first"


async def test_of_sixteen_creators_exactly_one_wins(store: ObjectStore) -> None:
    claims = [bytes([index]) * 100_000 for index in range(16)]
    await asyncio.gather(*(store.put("wal/00/contested", [claim]) for claim in claims))
    winner = bytes(await store.get("wal/00/contested"))
    assert winner in claims
    assert bytes(await store.get("wal/00/contested")) == winner


async def test_a_key_that_was_never_put_is_missing(store: ObjectStore) -> None:
    with pytest.raises(ObjectMissing):
        await store.get("wal/aa/none")
    with pytest.raises(ObjectMissing):
        await store.get("wal/aa/none", start=0, end=1)
    with pytest.raises(ObjectMissing):
        await store.get_into("wal/aa/none", 0, memoryview(bytearray(1)))
    with pytest.raises(ObjectMissing):
        await store.get_ranges("wal/aa/none", [(0, 1)])


@pytest.mark.parametrize(("start", "end"), [(0, 7), (5, 7), (6, 7), (100, 200)])
async def test_a_range_past_the_end_is_corrupt(store: ObjectStore, start: int, end: int) -> None:
    await store.put("one", [b"abcdef"])
    with pytest.raises(CorruptData):
        await store.get("one", start=start, end=end)
    with pytest.raises(CorruptData):
        await store.get_into("one", start, memoryview(bytearray(end - start)))
    with pytest.raises(CorruptData):
        await store.get_ranges("one", [(0, 1), (start, end)])


async def test_a_rest_that_starts_past_the_end_is_corrupt(store: ObjectStore) -> None:
    await store.put("one", [b"abcdef"])
    with pytest.raises(CorruptData):
        await store.get("one", start=100)


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 2), (0, 1 << 40)])
async def test_a_range_that_nobody_can_mean_is_refused(store: ObjectStore, start: int, end: int) -> None:
    await store.put("one", [b"abcdef"])
    with pytest.raises(InvariantViolated):
        await store.get("one", start=start, end=end)
    with pytest.raises(InvariantViolated):
        await store.get_ranges("one", [(start, end)])


@pytest.mark.parametrize("key", ["", "/etc/passwd", "../x", "a/../b", "a//b", "a\0b", ".incoming/x", "a/"])
async def test_a_key_that_could_lead_astray_is_refused(store: ObjectStore, key: str) -> None:
    with pytest.raises(InvariantViolated):
        await store.put(key, [b"x"])
    with pytest.raises(InvariantViolated):
        await store.get(key)
    with pytest.raises(InvariantViolated):
        await store.delete([key])


async def test_a_deleted_object_is_gone_and_the_others_stay(store: ObjectStore) -> None:
    for key in ("a/one", "a/two", "b/one"):
        await store.put(key, [b"x"])
    await store.delete(["a/one", "a/never-there", "never/there", "b/one"])
    assert set(await listed(store, "")) == {"a/two"}
    with pytest.raises(ObjectMissing):
        await store.get("a/one")


async def test_deleting_nothing_is_fine(store: ObjectStore) -> None:
    await store.delete([])
    assert await listed(store, "") == {}


async def test_a_listing_takes_the_beginning_of_keys(store: ObjectStore) -> None:
    for key in ("wal/aa/1", "wal/ab/2", "wal/b", "walnut", "x/wal/aa/3"):
        await store.put(key, [key.encode()])
    assert set(await listed(store, "wal/a")) == {"wal/aa/1", "wal/ab/2"}
    assert set(await listed(store, "wal/")) == {"wal/aa/1", "wal/ab/2", "wal/b"}
    assert set(await listed(store, "wal")) == {"wal/aa/1", "wal/ab/2", "wal/b", "walnut"}
    assert set(await listed(store, "wal/aa/1")) == {"wal/aa/1"}
    assert set(await listed(store, "nothing/here/")) == set()


async def test_a_listing_tells_length_and_age(store: ObjectStore) -> None:
    before_ms = SystemClock().now_ms()
    await store.put("one", [b"abc", b"def"])
    meta = (await listed(store, ""))["one"]
    assert meta.byte_length == 6
    # S3 tells whole seconds, and a file system's clock ticks behind the processor's.
    assert before_ms - 2000 <= meta.modified_ms <= SystemClock().now_ms() + 2000


async def test_a_long_listing_comes_in_pages_and_whole(store: ObjectStore) -> None:
    keys = {f"many/{index % 7}/{index}" for index in range(1100)}
    for first in range(0, 1100, 100):
        some = [f"many/{index % 7}/{index}" for index in range(first, first + 100)]
        await asyncio.gather(*(store.put(key, [b"x"]) for key in some))
    pages = [page async for page in store.list("many/")]
    assert len(pages) > 1
    assert sorted(meta.key for page in pages for meta in page) == sorted(keys)


async def test_a_closed_store_says_so(store: ObjectStore) -> None:
    await store.put("one", [b"x"])
    await store.close()
    with pytest.raises(Unavailable):
        await store.put("two", [b"x"])
    with pytest.raises(Unavailable):
        await store.get("one")

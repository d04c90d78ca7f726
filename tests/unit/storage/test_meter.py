"""What the meter of a store counts."""

import pytest

from inkless.errors import CorruptData
from inkless.storage.contract import ObjectMissing
from inkless.storage.memory import MemoryStore
from inkless.storage.meter import MeteredStore, StoreMeter, Verb


class TickingClock:
    """A clock that has gone on by `step_s` each time it is looked at."""

    def __init__(self, step_s: float) -> None:
        self._now_s = 0.0
        self._step_s = step_s

    def now_ms(self) -> int:
        return 0

    def monotonic(self) -> float:
        self._now_s += self._step_s
        return self._now_s

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


def metered(step_s: float = 0.003) -> tuple[MeteredStore, StoreMeter]:
    clock, meter = TickingClock(step_s), StoreMeter()
    return MeteredStore(MemoryStore(clock), clock, meter), meter


async def test_requests_and_bytes_are_counted_by_verb() -> None:
    store, meter = metered()
    await store.put("a/x", [b"abc", memoryview(b"defg")])
    await store.get("a/x")
    await store.get("a/x", start=1, end=3)
    await store.get_into("a/x", 0, memoryview(bytearray(4)))
    await store.get_ranges("a/x", [(0, 1), (2, 5)])
    pages = [page async for page in store.list("a/")]
    await store.delete(["a/x", "a/y"])
    counts = {verb: (c.request_count, c.byte_count, c.error_count) for verb, c in meter.by_verb.items()}
    assert len(pages) == 1
    assert counts == {
        Verb.PUT: (1, 7, 0),
        Verb.GET: (4, 7 + 2 + 4 + 4, 0),
        Verb.DELETE: (2, 0, 0),
        Verb.LIST: (1, 0, 0),
    }


async def test_the_time_a_request_took_is_kept() -> None:
    store, meter = metered(step_s=0.003)
    await store.put("x", [b"1"])
    latency = meter.by_verb[Verb.PUT].latency_s.snapshot()
    assert latency.observed == 1
    assert latency.total == pytest.approx(0.003)


async def test_every_page_of_a_listing_is_a_request() -> None:
    store, meter = metered()
    for index in range(2100):
        await store.put(f"many/{index}", [b""])
    assert len([page async for page in store.list("many/")]) == 3
    assert meter.by_verb[Verb.LIST].request_count == 3
    assert [page async for page in store.list("none/")] == []
    assert meter.by_verb[Verb.LIST].request_count == 4


async def test_missing_objects_are_not_errors_of_the_store() -> None:
    store, meter = metered()
    with pytest.raises(ObjectMissing):
        await store.get("x")
    await store.put("x", [b"1"])
    with pytest.raises(CorruptData):
        await store.get("x", start=0, end=2)
    counts = meter.by_verb[Verb.GET]
    assert (counts.request_count, counts.missing_count, counts.error_count) == (2, 1, 1)
    assert counts.latency_s.snapshot().observed == 2

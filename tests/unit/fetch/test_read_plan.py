"""What is read at once, and how much of what was found one fetch reads."""

from hypothesis import given
from hypothesis import strategies as st

from inkless.coordinator.types import Coordinates, FindResult, ObjectId, PartitionId, TopicId
from inkless.fetch.plan import plan_reads
from inkless.fetch.units import ReadUnit, unit_for
from inkless.protocol.error_codes import ErrorCode
from inkless.settings import FetchSettings

SETTINGS = FetchSettings(hot_window_ms=1000)
KIB, MIB = 1024, 1024 * 1024


def coordinates(
    key: str = "object",
    *,
    run: tuple[int, int] = (0, 100),
    wanted: tuple[int, int] | None = None,
    object_bytes: int = 8 * MIB,
    committed_ms: int = 0,
) -> Coordinates:
    byte_start, byte_end = wanted or run
    return Coordinates(
        object_id=ObjectId(bytes(16)),
        key=key,
        object_byte_length=object_bytes,
        committed_ms=committed_ms,
        run_byte_start=run[0],
        run_byte_end=run[1],
        run_base_offset=0,
        byte_start=byte_start,
        byte_end=byte_end,
        base_offset=0,
        end_offset=1,
    )


def test_a_small_run_is_read_with_its_whole_object() -> None:
    where = coordinates(run=(5000, 9000))
    assert unit_for(where, SETTINGS, now_ms=999) == ReadUnit("object", 0, 8 * MIB)


def test_a_large_run_is_read_alone_and_from_the_start_of_a_page() -> None:
    where = coordinates(run=(5000, 5000 + MIB), wanted=(6000, 7000))
    assert unit_for(where, SETTINGS, now_ms=999) == ReadUnit("object@5000", 4096, 5000 + MIB)


def test_of_an_old_object_only_what_is_wanted_is_read_and_nothing_kept() -> None:
    where = coordinates(run=(5000, 9000), wanted=(6000, 7000))
    assert unit_for(where, SETTINGS, now_ms=1000) == ReadUnit(None, 4096, 7000)


def test_a_run_too_large_to_keep_is_read_as_it_is_wanted() -> None:
    where = coordinates(run=(0, 64 * MIB), wanted=(8192, MIB), object_bytes=64 * MIB)
    assert unit_for(where, SETTINGS, now_ms=0) == ReadUnit(None, 8192, MIB)


def test_a_small_run_of_an_object_too_large_to_keep_is_read_alone() -> None:
    where = coordinates(run=(8192, 9000), object_bytes=64 * MIB)
    assert unit_for(where, SETTINGS, now_ms=0) == ReadUnit("object@8192", 8192, 9000)


def found_in(index: int, *keys: str) -> FindResult:
    places = [coordinates(key, run=(index * KIB, (index + 1) * KIB), object_bytes=MIB) for key in keys]
    return FindResult(PartitionId(0, TopicId(bytes(16)), index), ErrorCode.NONE, 0, 100, places)


def plan(found: list[FindResult], *, bytes_max: int, cached: frozenset[str] = frozenset()) -> list[list[str]]:
    made = plan_reads(
        found,
        unit_for=lambda where: unit_for(where, SETTINGS, now_ms=0),
        is_cached=lambda where, _: where.key in cached,
        bytes_max=bytes_max,
    )
    kept = [[where.key for where in result.coordinates] for result in made.found]
    assert len(made.units) == sum(map(len, kept))
    return kept


def test_partitions_in_the_same_objects_are_read_together() -> None:
    found = [found_in(index, "a", "b", "c") for index in range(3)]
    assert plan(found, bytes_max=2 * MIB) == [["a", "b"]] * 3


def test_the_first_object_is_always_affordable() -> None:
    assert plan([found_in(0, "a"), found_in(1, "b")], bytes_max=1) == [["a"], []]


def test_what_is_cached_costs_nothing() -> None:
    found = [found_in(0, "a", "b"), found_in(1, "c")]
    assert plan(found, bytes_max=MIB, cached=frozenset("ab")) == [["a", "b"], ["c"]]


def test_nothing_behind_what_is_not_affordable_is_returned() -> None:
    """A gap in the offsets would look like records that are lost."""
    found = [found_in(0, "a", "b", "c")]
    assert plan(found, bytes_max=MIB, cached=frozenset("c")) == [["a"]]


@given(
    st.lists(st.lists(st.sampled_from("abcdef"), max_size=6, unique=True), min_size=1, max_size=6),
    st.integers(0, 6),
    st.frozensets(st.sampled_from("abcdef")),
)
def test_every_partition_gets_a_beginning_and_the_limit_holds(
    keys: list[list[str]], objects_max: int, cached: frozenset[str]
) -> None:
    found = [found_in(index, *each) for index, each in enumerate(keys)]
    kept = plan(found, bytes_max=objects_max * MIB, cached=cached)
    assert all(some == all_of[: len(some)] for some, all_of in zip(kept, keys, strict=True))
    read = {key for some in kept for key in some} - cached
    assert len(read) <= max(1, objects_max)
    if any(keys):
        assert any(kept)

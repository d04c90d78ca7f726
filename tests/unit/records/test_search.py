import pytest

from inkless.records.compress import Codec
from inkless.records.encode import encode_batch
from inkless.records.record import Record
from inkless.records.search import TimestampedOffset, find_first_at_or_after, find_max_timestamp
from inkless.records.stamp import stamp_log_append_time


def run_of(*batches: list[int], codec: Codec = Codec.NONE) -> memoryview:
    """A run as it stands in a WAL object: every batch begins at offset 0."""
    return memoryview(
        b"".join(
            encode_batch([Record(i, timestamp, None, b"") for i, timestamp in enumerate(batch)], codec=codec)
            for batch in batches
        )
    )


RUN = run_of([10, 30, 20], [40, 5], [40, 50])


@pytest.mark.parametrize(
    ("timestamp_ms", "expected"),
    [
        (0, (100, 10)),
        (10, (100, 10)),
        (11, (101, 30)),
        (30, (101, 30)),
        (31, (103, 40)),
        (41, (106, 50)),
        (50, (106, 50)),
    ],
)
def test_the_first_record_not_before_the_timestamp_is_found(
    timestamp_ms: int, expected: tuple[int, int]
) -> None:
    assert find_first_at_or_after(RUN, 100, timestamp_ms) == TimestampedOffset(*expected)


def test_nothing_is_found_after_the_last_timestamp() -> None:
    assert find_first_at_or_after(RUN, 100, 51) is None


def test_records_below_the_log_start_are_not_found() -> None:
    assert find_first_at_or_after(RUN, 100, 0, offset_min=102) == (102, 20)
    assert find_first_at_or_after(RUN, 100, 0, offset_min=104) == (104, 5)
    assert find_first_at_or_after(RUN, 100, 0, offset_min=107) is None


def test_segments_carry_their_own_offsets_and_gaps() -> None:
    segment = memoryview(encode_batch([Record(7, 1, None, b""), Record(9, 2, None, b"")]))
    assert find_first_at_or_after(segment, None, 2) == (9, 2)
    assert find_max_timestamp(segment, None) == (9, 2)


def test_compressed_batches_are_searched_too() -> None:
    assert find_first_at_or_after(run_of([1, 2], [3, 4], codec=Codec.ZSTD), 0, 4) == (3, 4)


def test_the_first_of_the_largest_timestamps_wins() -> None:
    assert find_max_timestamp(run_of([10, 50, 50], [50], [1]), 200) == (201, 50)
    assert find_max_timestamp(RUN, 100) == (106, 50)


def test_the_largest_timestamp_below_the_log_start_does_not_count() -> None:
    assert find_max_timestamp(run_of([90, 10], [20]), 0, offset_min=1) == (2, 20)


def test_records_without_timestamps_have_no_largest_one() -> None:
    assert find_max_timestamp(run_of([-1, -1]), 0) is None
    assert find_max_timestamp(memoryview(b""), 0) is None


def test_with_append_time_the_first_record_of_the_batch_is_the_answer() -> None:
    run = memoryview(bytearray(run_of([1, 2, 3])))
    stamp_log_append_time(run, 77)
    assert find_max_timestamp(run, 10) == (10, 77)
    assert find_first_at_or_after(run, 10, 3) == (10, 77)

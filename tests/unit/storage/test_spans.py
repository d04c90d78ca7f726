"""Ranges that lie near each other share a read."""

from hypothesis import given
from hypothesis import strategies as st

from inkless.storage.spans import Span, merge_ranges

ranges_of_an_object = st.lists(
    st.tuples(st.integers(0, 300), st.integers(0, 60)).map(lambda pair: (pair[0], pair[0] + pair[1])),
    max_size=12,
)


def test_ranges_within_the_gap_share_a_span() -> None:
    spans = merge_ranges([(20, 30), (0, 10)], gap_bytes_max=10, span_bytes_max=100)
    assert spans == [Span(0, 30, [1, 0])]


def test_ranges_beyond_the_gap_do_not() -> None:
    spans = merge_ranges([(0, 10), (21, 30)], gap_bytes_max=10, span_bytes_max=100)
    assert spans == [Span(0, 10, [0]), Span(21, 30, [1])]


def test_a_span_does_not_grow_past_its_limit() -> None:
    spans = merge_ranges([(0, 10), (10, 20), (20, 30)], gap_bytes_max=10, span_bytes_max=20)
    assert spans == [Span(0, 20, [0, 1]), Span(20, 30, [2])]


def test_a_long_range_takes_in_what_lies_inside_it() -> None:
    spans = merge_ranges([(0, 1000), (5, 6)], gap_bytes_max=0, span_bytes_max=20)
    assert spans == [Span(0, 1000, [0, 1])]


@given(ranges_of_an_object, st.integers(0, 40), st.integers(0, 200))
def test_every_range_lies_whole_in_one_span(
    ranges: list[tuple[int, int]], gap_bytes_max: int, span_bytes_max: int
) -> None:
    spans = merge_ranges(ranges, gap_bytes_max=gap_bytes_max, span_bytes_max=span_bytes_max)
    seen = [member for span in spans for member in span.members]
    assert sorted(seen) == [at for at, (start, end) in enumerate(ranges) if start < end]
    for span in spans:
        members = [ranges[member] for member in span.members]
        assert (span.start, span.end) == (min(s for s, _ in members), max(e for _, e in members))
        longest = max(e - s for s, e in members)
        assert span.end - span.start <= max(span_bytes_max, longest)

"""Which reads to send for a set of ranges: near ones share one, since a request costs more than a gap."""

from collections.abc import Sequence
from typing import NamedTuple

from inkless.storage.contract import check_range


class Span(NamedTuple):
    """One read [start, end), and the positions of the ranges that are cut out of it."""

    start: int
    end: int
    members: list[int]


def merge_ranges(ranges: Sequence[tuple[int, int]], *, gap_bytes_max: int, span_bytes_max: int) -> list[Span]:
    """Spans, by start, that cover every range that is not empty.

    Ranges share a span when at most `gap_bytes_max` lie between them and the span stays within
    `span_bytes_max`; a single range may be longer than that.
    """
    spans: list[Span] = []
    for position in sorted(range(len(ranges)), key=ranges.__getitem__):
        start, end = ranges[position]
        if check_range(start, end) == 0:
            continue
        if spans:
            last = spans[-1]
            merged_end = max(last.end, end)
            fits = merged_end == last.end or merged_end - last.start <= span_bytes_max
            if start - last.end <= gap_bytes_max and fits:
                spans[-1] = Span(last.start, merged_end, [*last.members, position])
                continue
        spans.append(Span(start, end, [position]))
    return spans

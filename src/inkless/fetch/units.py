"""What is read from storage at once to serve a run. Pure.

A request costs the same however little it brings, so small runs are read with everything around them: the
object's other partitions are about to be asked for too, by the same consumer or by its neighbours. A run that
is large by itself is read alone. Old objects give exactly what is asked for and are not kept, so that a
backfill takes nothing from those who read at the tail.
"""

from typing import NamedTuple

from inkless.coordinator.types import Coordinates
from inkless.settings import FetchSettings

_LARGE_RUN_BYTES = 256 * 1024
_KEPT_BYTES_MAX = 32 * 1024 * 1024
_PAGE_BYTES = 4096
"""Reads begin on a page, so that a local store can read past the page cache."""


class ReadUnit(NamedTuple):
    """The bytes [byte_start, byte_end) of an object; `cache_key` is None for what is not kept."""

    cache_key: str | None
    byte_start: int
    byte_end: int

    @property
    def byte_length(self) -> int:
        return self.byte_end - self.byte_start


def unit_for(where: Coordinates, settings: FetchSettings, now_ms: int) -> ReadUnit:
    is_young = now_ms - where.committed_ms < settings.hot_window_ms
    run_bytes = where.run_byte_end - where.run_byte_start
    if not is_young or run_bytes > _KEPT_BYTES_MAX:
        return ReadUnit(None, _page_of(where.byte_start), where.byte_end)
    if run_bytes < _LARGE_RUN_BYTES and where.object_byte_length <= _KEPT_BYTES_MAX:
        return ReadUnit(where.key, 0, where.object_byte_length)
    return ReadUnit(f"{where.key}@{where.run_byte_start}", _page_of(where.run_byte_start), where.run_byte_end)


def _page_of(position: int) -> int:
    return position - position % _PAGE_BYTES

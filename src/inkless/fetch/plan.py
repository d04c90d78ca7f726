"""How much of what was found one fetch reads. Pure.

Partitions that are written together lie in the same objects. A consumer who reads many of them from the past
asks for a stretch of each, and so for more objects than memory holds: they would be read for the first
partitions, pushed out, and read again for the next. So a fetch takes only as many objects as stay in memory
together, and all that its partitions have in those; the client comes back for the rest.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from inkless.coordinator.types import Coordinates, FindResult
from inkless.fetch.units import ReadUnit


class Plan(NamedTuple):
    """The coordinates that are to be read, with the unit each is in, and what that brings into memory."""

    found: list[FindResult]
    units: list[ReadUnit]
    byte_length: int


def plan_reads(
    found: Sequence[FindResult],
    *,
    unit_for: Callable[[Coordinates], ReadUnit],
    is_cached: Callable[[Coordinates, ReadUnit], bool],
    bytes_max: int,
) -> Plan:
    """Cuts each partition's coordinates before the first that costs more than is left of `bytes_max`.

    The first read is always affordable. Partitions come in the order of the request, which clients and
    sessions rotate.
    """
    paid: set[str | None] = set()
    paid_bytes = 0
    units: list[ReadUnit] = []
    planned: list[FindResult] = []
    for result in found:
        kept = 0
        for where in result.coordinates:
            unit = unit_for(where)
            is_free = (unit.cache_key is not None and unit.cache_key in paid) or is_cached(where, unit)
            if not is_free:
                if paid_bytes and paid_bytes + unit.byte_length > bytes_max:
                    break
                paid.add(unit.cache_key)
                paid_bytes += unit.byte_length
            units.append(unit)
            kept += 1
        whole = kept == len(result.coordinates)
        planned.append(result if whole else result._replace(coordinates=result.coordinates[:kept]))
    return Plan(planned, units, paid_bytes)

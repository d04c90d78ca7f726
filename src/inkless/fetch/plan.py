"""How much of what was found one fetch reads. Pure.

Partitions that are written together lie in the same objects. A consumer who reads many of them from the past
asks for a stretch of each, and so for more objects than memory holds: they would be read for the first
partitions, pushed out, and read again for the next. So a fetch takes only as many objects as stay in memory
together, and all that its partitions have in those; the client comes back for the rest.
"""

from collections.abc import Callable, Sequence

from inkless.coordinator.types import Coordinates, FindResult


def affordable(
    found: Sequence[FindResult], *, cost_of: Callable[[Coordinates], int], bytes_max: int
) -> list[FindResult]:
    """Cuts each partition's coordinates before the first that costs more than is left.

    `cost_of` says what reading an object brings into memory; 0 when it is there. The first read is always
    affordable. Partitions come in the order of the request, which clients and sessions rotate.
    """
    paid: set[str] = set()
    left = bytes_max
    plan: list[FindResult] = []
    for result in found:
        kept = 0
        for where in result.coordinates:
            cost = 0 if where.key in paid else cost_of(where)
            if cost > left and paid:
                break
            if cost:
                paid.add(where.key)
                left -= cost
            kept += 1
        whole = kept == len(result.coordinates)
        plan.append(result if whole else result._replace(coordinates=result.coordinates[:kept]))
    return plan

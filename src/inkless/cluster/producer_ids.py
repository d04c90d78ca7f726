"""The ids that idempotent producers write under."""

import asyncio

from inkless.coordinator.contract import ClusterMetadata

_BLOCK_LENGTH = 1000


class ProducerIds:
    """Gives out ids from a block that it takes from the cluster metadata whenever the last one is used up.

    Ids are never given out twice, by whatever broker: what is left of a block when the process ends is lost,
    and there are enough of them.
    """

    def __init__(self, metadata: ClusterMetadata) -> None:
        self._metadata = metadata
        self._next = 0
        self._end = 0
        self._refilling = asyncio.Lock()

    async def next(self) -> int:
        """An id that nobody has had. Raises Unavailable."""
        async with self._refilling:
            if self._next == self._end:
                self._next = await self._metadata.allocate_producer_ids(_BLOCK_LENGTH)
                self._end = self._next + _BLOCK_LENGTH
            producer_id = self._next
            self._next += 1
            return producer_id

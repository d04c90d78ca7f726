"""Producer ids come in blocks, and none comes twice."""

import asyncio
from pathlib import Path

import pytest

from inkless.cluster.producer_ids import ProducerIds
from inkless.errors import Unavailable
from support.cluster_parts import cluster_parts


async def test_no_id_is_given_out_twice(tmp_path: Path) -> None:
    async with cluster_parts(tmp_path) as parts:
        brokers = [ProducerIds(parts.control_plane), ProducerIds(parts.control_plane)]
        given = await asyncio.gather(*(each.next() for each in brokers for _ in range(1500)))
    assert len(set(given)) == 3000


async def test_the_database_is_asked_once_for_a_thousand_ids(tmp_path: Path) -> None:
    async with cluster_parts(tmp_path) as parts:
        producer_ids = ProducerIds(parts.control_plane)
        given = [await producer_ids.next() for _ in range(1001)]
    assert parts.link.calls.count("allocate_producer_ids") == 2
    assert given[:1000] == list(range(given[0], given[0] + 1000))


async def test_a_failed_refill_is_tried_again(tmp_path: Path) -> None:
    async with cluster_parts(tmp_path) as parts:
        producer_ids = ProducerIds(parts.control_plane)
        parts.link.is_down = True
        with pytest.raises(Unavailable):
            await producer_ids.next()
        parts.link.is_down = False
        assert await producer_ids.next() >= 0

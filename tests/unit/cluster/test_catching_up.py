"""A broker that is asked for what it does not know asks the database, but neither often nor for long."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from inkless.cluster import membership as module
from inkless.cluster.membership import Membership
from inkless.coordinator.types import BrokerRegistration
from support.cluster_parts import LEASE_MS, ClusterParts, a_broker, cluster_parts


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[ClusterParts]:
    async with cluster_parts(tmp_path) as opened:
        yield opened


def ids_of(parts: ClusterParts) -> list[int]:
    return [broker.broker_id for broker in parts.membership.brokers]


async def come(parts: ClusterParts, broker: BrokerRegistration) -> None:
    await parts.control_plane.register_broker(broker, lease_ms=LEASE_MS)
    parts.link.calls.clear()


async def test_catching_up_brings_what_came_a_moment_ago(parts: ClusterParts) -> None:
    await come(parts, a_broker(5))
    await parts.membership.catch_up()
    assert ids_of(parts) == [0, 5]


async def test_many_who_catch_up_at_once_ask_at_most_twice(parts: ClusterParts) -> None:
    await come(parts, a_broker(5))
    await asyncio.gather(*(parts.membership.catch_up() for _ in range(100)))
    assert ids_of(parts) == [0, 5]
    assert parts.link.calls.count("living_brokers") <= 2


async def test_looking_around_asks_only_when_nobody_did_lately(parts: ClusterParts) -> None:
    await parts.membership.refresh()
    await come(parts, a_broker(5))
    await parts.membership.look_around()
    assert parts.link.calls == []
    parts.membership._loaded_at -= 10
    await parts.membership.look_around()
    assert ids_of(parts) == [0, 5]


async def test_a_database_that_refuses_leaves_what_is_known(parts: ClusterParts) -> None:
    parts.link.is_down = True
    await parts.membership.catch_up()
    assert ids_of(parts) == [0]


async def test_a_database_that_is_silent_is_not_waited_for(
    parts: ClusterParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent:
        def __getattr__(self, name: str) -> Any:
            return asyncio.Event().wait

    monkeypatch.setattr(module, "_CATCH_UP_S_MAX", 0.01)
    membership = Membership(
        a_broker(7),
        metadata=Silent(),
        directory=parts.directory,
        lease_ms=LEASE_MS,
        clock=parts.membership._clock,
    )
    await membership.catch_up()
    assert [broker.broker_id for broker in membership.brokers] == [7]

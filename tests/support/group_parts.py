"""A group coordinator over a real control plane, by a clock that is turned by hand."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from inkless.groups.coordinator import GroupCoordinator
from inkless.groups.offsets import GroupOffsets
from inkless.settings import GroupSettings
from support.cluster_parts import ClusterParts, cluster_parts
from support.turned_clock import TurnedClock


@dataclass(frozen=True, slots=True)
class GroupParts:
    coordinator: GroupCoordinator
    offsets: GroupOffsets
    cluster: ClusterParts
    clock: TurnedClock


@asynccontextmanager
async def group_parts(folder: Path, settings: GroupSettings) -> AsyncIterator[GroupParts]:
    clock = TurnedClock()
    async with cluster_parts(folder) as cluster:
        store = cluster.control_plane
        coordinator = GroupCoordinator(settings, store=store, membership=cluster.membership, clock=clock)
        yield GroupParts(coordinator, GroupOffsets(coordinator, store), cluster, clock)
        cluster.link.is_down = False
        await coordinator.close()

"""A broker's view of its cluster over a real control plane in a file, and a way to cut it off."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from inkless.clock import SystemClock, SystemEntropy
from inkless.cluster.directory import TopicDirectory
from inkless.cluster.membership import Membership
from inkless.cluster.topic_changes import TopicChanges
from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.open import open_control_plane
from inkless.coordinator.types import BrokerRegistration, Listener
from inkless.errors import Unavailable
from inkless.settings import Settings, load_settings

LEASE_MS = 600_000


class BreakableControlPlane:
    """Passes every call on, unless `is_down`."""

    def __init__(self, real: ControlPlane) -> None:
        self._real = real
        self.is_down = False
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        async def call(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(name)
            if self.is_down:
                raise Unavailable("cut off")
            return await getattr(self._real, name)(*args, **kwargs)

        return call


@dataclass(frozen=True, slots=True)
class ClusterParts:
    settings: Settings
    control_plane: ControlPlane
    link: BreakableControlPlane
    directory: TopicDirectory
    membership: Membership
    topic_changes: TopicChanges

    async def add_brokers(self, *brokers: BrokerRegistration) -> None:
        for broker in brokers:
            await self.control_plane.register_broker(broker, lease_ms=LEASE_MS)
        await self.membership.refresh()


def a_broker(
    broker_id: int, *, rack: str | None = None, listeners: Sequence[Listener] | None = None
) -> BrokerRegistration:
    if listeners is None:
        listeners = [Listener("PLAINTEXT", f"host-{broker_id}", 9092)]
    return BrokerRegistration(broker_id, broker_id.to_bytes(16, "big"), rack, listeners)


@asynccontextmanager
async def cluster_parts(
    folder: Path, *, overrides: Mapping[str, str] | None = None
) -> AsyncIterator[ClusterParts]:
    """One broker that has joined; a second call on the same folder is a second broker's view."""
    settings = load_settings(overrides={"inkless.data.dir": str(folder), **(overrides or {})}).settings
    entropy = SystemEntropy()
    real = await open_control_plane(f"sqlite://{folder}/control.db", clock=SystemClock(), entropy=entropy)
    link = BreakableControlPlane(real)
    metadata = cast(ControlPlane, link)
    directory = TopicDirectory(metadata, settings.topics)
    membership = Membership(
        a_broker(settings.server.node_id, rack=settings.server.rack),
        metadata=metadata,
        directory=directory,
        lease_ms=LEASE_MS,
        clock=SystemClock(),
    )
    changes = TopicChanges(
        metadata=metadata,
        directory=directory,
        membership=membership,
        settings=settings.server,
        entropy=entropy,
    )
    try:
        await membership.join()
        yield ClusterParts(settings, metadata, link, directory, membership, changes)
    finally:
        link.is_down = False
        await membership.leave()
        await real.close()

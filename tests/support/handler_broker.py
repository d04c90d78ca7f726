"""A broker for handlers: real cluster parts, and messages that travel through the real codec."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inkless.clock import SystemClock, SystemEntropy
from inkless.cluster.directory import TopicEntry
from inkless.cluster.producer_ids import ProducerIds
from inkless.cluster.topic_changes import WantedTopic
from inkless.coordinator.types import BatchFacts, ObjectCommit, ObjectId, RunCommit
from inkless.groups.coordinator import GroupCoordinator
from inkless.groups.offsets import GroupOffsets
from inkless.protocol.codec import RequestHeader, decode_exactly, encoder
from inkless.protocol.schema import message_schema
from inkless.server.api_table import API_TABLE
from inkless.server.context import BrokerContext
from inkless.server.exchange import Exchange, Route
from support.cluster_parts import ClusterParts, cluster_parts

_UNUSED: Any = None
"""The data paths, which administration never touches."""


@dataclass(slots=True)
class Caller:
    """Stands for the connection, of which handlers see only where it comes from."""

    listener: str
    peer_host: str = "127.0.0.1"

    refused: str | None = None

    def answered(self) -> None:
        pass

    def refuse(self, why: str) -> None:
        self.refused = why


@dataclass(frozen=True, slots=True)
class HandlerBroker:
    context: BrokerContext
    parts: ClusterParts

    async def ask(self, request: Any, *, version: int | None = None, listener: str = "PLAINTEXT") -> Any:
        """The response, as a client of that version reads it; the newest version if none is given."""
        schema = message_schema(type(request))
        if version is None:
            version = schema.versions.last
        route = Route(type(request).__name__, decode=_UNUSED, encode=lambda *_: [], handler=_UNUSED)
        header = RequestHeader(schema.api_key, version, 1, "test", 0)
        exchange = Exchange(route, header, Caller(listener), True)
        handler = API_TABLE[schema.api_key].handler
        answer: Any = handler(self.context, exchange, _through_the_wire(request, version))
        return _through_the_wire(await answer, version)

    async def create(self, name: str, partition_count: int = 1, **configs: str) -> TopicEntry:
        wanted = WantedTopic(
            name=name,
            partition_count=partition_count,
            configs={key.replace("_", "."): value for key, value in configs.items()},
        )
        return await self.parts.topic_changes.create(wanted)

    async def commit(self, entry: TopicEntry, index: int, record_count: int) -> None:
        """Gives a partition that many records, of which only the coordinator knows."""
        run = RunCommit(entry.partitions[index], 0, [BatchFacts(100, record_count, 1)])
        object_id = ObjectId(self.context.entropy.new_id())
        key = f"wal/{object_id.hex()}"
        await self.parts.control_plane.commit_objects([ObjectCommit(object_id, key, 100, 0, [run])])


@asynccontextmanager
async def handler_broker(
    folder: Path, *, overrides: Mapping[str, str] | None = None
) -> AsyncIterator[HandlerBroker]:
    async with cluster_parts(folder, overrides=overrides) as parts:
        groups = GroupCoordinator(
            parts.settings.groups, store=parts.control_plane, membership=parts.membership, clock=SystemClock()
        )
        context = BrokerContext(
            settings=parts.settings,
            cluster_id=await parts.control_plane.cluster_id(),
            control_plane=parts.control_plane,
            directory=parts.directory,
            membership=parts.membership,
            topic_changes=parts.topic_changes,
            producer_ids=ProducerIds(parts.control_plane),
            writer=_UNUSED,
            fetcher=_UNUSED,
            reader=_UNUSED,
            fetch_sessions=_UNUSED,
            timestamp_search=_UNUSED,
            groups=groups,
            group_offsets=GroupOffsets(groups, parts.control_plane),
            clock=SystemClock(),
            entropy=SystemEntropy(),
        )
        yield HandlerBroker(context, parts)
        await groups.close()


def _through_the_wire(message: Any, version: int) -> Any:
    encoded = bytearray()
    encoder(type(message), version)(message, encoded)
    return decode_exactly(type(message), version, memoryview(encoded))

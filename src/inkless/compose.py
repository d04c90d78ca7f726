"""The one place that wires a broker together from its settings."""

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

from inkless.broker_metrics import Measured, publish
from inkless.buffers import BufferPool
from inkless.clock import Clock, Entropy, SystemClock, SystemEntropy
from inkless.cluster.directory import TopicDirectory
from inkless.cluster.membership import Membership
from inkless.cluster.producer_ids import ProducerIds
from inkless.cluster.topic_changes import TopicChanges
from inkless.coordinator.contract import CommitNotices, ControlPlane
from inkless.coordinator.open import open_control_plane
from inkless.coordinator.types import BrokerRegistration, Listener
from inkless.fetch.cache import ObjectCache
from inkless.fetch.fetcher import Fetcher
from inkless.fetch.parking import ParkingLot
from inkless.fetch.reader import RunReader
from inkless.fetch.sessions import FetchSessions
from inkless.fetch.tail import Tail
from inkless.fetch.timestamps import TimestampSearch
from inkless.fetch.watch import CommitWatch
from inkless.groups.coordinator import GroupCoordinator
from inkless.groups.offsets import GroupOffsets
from inkless.groups.upkeep import GroupUpkeep
from inkless.housekeeping.housekeeper import Housekeeper
from inkless.observability import MetricsRegistry, MetricsServer
from inkless.produce.writer import Writer
from inkless.server.context import BrokerContext
from inkless.server.dispatch import RequestDispatcher
from inkless.server.listener import BoundListener, Listeners, bind
from inkless.settings import HostPort, ListenerAddress, Settings
from inkless.storage.contract import ObjectStore
from inkless.storage.meter import StoreMeter
from inkless.storage.open import open_store

_POOL_IDLE_BYTES_MAX = 64 * 1024 * 1024
_GC_THRESHOLDS = (50_000, 20, 20)
_SWITCH_INTERVAL_S = 0.0005
_ANY_HOSTS = ("0.0.0.0", "::")  # noqa: S104  # compared with, never bound to


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningBroker:
    """A broker that accepts clients."""

    settings: Settings
    cluster_id: str
    listeners: tuple[ListenerAddress, ...]
    """With the ports that were really bound."""
    metrics: MetricsRegistry
    metrics_address: HostPort | None
    _resources: AsyncExitStack

    @property
    def port(self) -> int:
        return self.listeners[0].port

    @property
    def bootstrap(self) -> str:
        """Where a client on this machine reaches the broker."""
        host = self.listeners[0].host
        return f"{'127.0.0.1' if host in _ANY_HOSTS else host}:{self.listeners[0].port}"

    async def stop(self) -> None:
        """Takes nothing more, finishes and answers what was taken, closes."""
        await self._resources.aclose()


async def start_broker(
    settings: Settings,
    *,
    store: ObjectStore | None = None,
    control_plane: ControlPlane | None = None,
) -> RunningBroker:
    """Opens storage and control plane unless they are given, joins the cluster and begins to serve.

    Raises ConfigurationError, Unavailable, RequestError (the node id is taken) or OSError (the address is).
    """
    clock, entropy = SystemClock(), SystemEntropy()
    async with AsyncExitStack() as resources:
        meter = StoreMeter()
        if store is None:
            store = open_store(settings.storage, clock, meter)
            resources.push_async_callback(store.close)
        if control_plane is None:
            control_plane = await open_control_plane(
                settings.control_plane.url,
                clock=clock,
                entropy=entropy,
                deadline_ms=settings.control_plane.deadline_ms,
                username=settings.control_plane.username,
                password=settings.control_plane.password,
            )
            resources.push_async_callback(control_plane.close)
        return await _start(settings, _Outside(store, meter, control_plane, clock, entropy), resources)


@dataclass(frozen=True, slots=True)
class _Outside:
    """What a broker needs of the world around it."""

    store: ObjectStore
    store_meter: StoreMeter
    control_plane: ControlPlane
    clock: Clock
    entropy: Entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """A broker put together, not yet running."""

    context: BrokerContext
    parking: ParkingLot
    listeners: Listeners
    upkeep: GroupUpkeep
    watch: CommitWatch
    housekeeper: Housekeeper
    metrics: MetricsRegistry


async def _start(settings: Settings, outside: _Outside, resources: AsyncExitStack) -> RunningBroker:
    bound = _bind_all(settings, resources)
    cluster_id = await outside.control_plane.cluster_id()
    parts = _put_together(settings, outside, bound, cluster_id)
    await _set_going(parts, bound, resources)
    metrics_address = await _serve_metrics(settings, parts.metrics, parts.context.membership, resources)
    return RunningBroker(
        settings=settings,
        cluster_id=cluster_id,
        listeners=tuple(each.address for each in bound),
        metrics=parts.metrics,
        metrics_address=metrics_address,
        _resources=resources.pop_all(),
    )


def _put_together(
    settings: Settings, outside: _Outside, bound: list[BoundListener], cluster_id: str
) -> _Parts:
    store, control_plane = outside.store, outside.control_plane
    clock, entropy = outside.clock, outside.entropy
    object_pool = BufferPool(idle_bytes_max=_POOL_IDLE_BYTES_MAX)
    receive_pool = BufferPool(idle_bytes_max=_POOL_IDLE_BYTES_MAX)
    cache = ObjectCache(
        bytes_max=settings.fetch.cache_bytes_max, written_share=settings.fetch.cache_written_share
    )
    parking = ParkingLot()
    reader = RunReader(settings.fetch, store=store, cache=cache, pool=object_pool, clock=clock)
    directory = TopicDirectory(control_plane, settings.topics)
    membership = Membership(
        _registration(settings, bound, incarnation=entropy.new_id()),
        metadata=control_plane,
        directory=directory,
        lease_ms=settings.server.lease_ms,
        clock=clock,
    )
    groups = GroupCoordinator(settings.groups, store=control_plane, membership=membership, clock=clock)
    context = BrokerContext(
        settings=settings,
        cluster_id=cluster_id,
        control_plane=control_plane,
        directory=directory,
        membership=membership,
        topic_changes=TopicChanges(
            metadata=control_plane,
            directory=directory,
            membership=membership,
            settings=settings.server,
            entropy=entropy,
        ),
        producer_ids=ProducerIds(control_plane),
        writer=Writer(
            settings.produce,
            broker_id=settings.server.node_id,
            store=store,
            coordinator=control_plane,
            listener=Tail(cache, parking),
            pool=object_pool,
            clock=clock,
            entropy=entropy,
        ),
        fetcher=Fetcher(
            settings.fetch, coordinator=control_plane, reader=reader, parking=parking, clock=clock
        ),
        reader=reader,
        fetch_sessions=FetchSessions(sessions_max=settings.fetch.sessions_max),
        timestamp_search=TimestampSearch(control_plane, reader),
        groups=groups,
        group_offsets=GroupOffsets(groups, control_plane),
        clock=clock,
        entropy=entropy,
    )
    dispatcher = RequestDispatcher(context)
    listeners = Listeners(settings.server, dispatcher=dispatcher, pool=receive_pool, clock=clock)
    housekeeper = Housekeeper(
        settings.housekeeping,
        broker_id=settings.server.node_id,
        control_plane=control_plane,
        store=store,
        directory=directory,
        clock=clock,
        entropy=entropy,
    )
    return _Parts(
        context=context,
        parking=parking,
        listeners=listeners,
        upkeep=GroupUpkeep(groups, settings.groups, store=control_plane, membership=membership, clock=clock),
        watch=CommitWatch(control_plane, parking, interval_ms=settings.fetch.poll_interval_ms, clock=clock),
        housekeeper=housekeeper,
        metrics=publish(
            Measured(
                context=context,
                cache=cache,
                parking=parking,
                dispatcher=dispatcher,
                listeners=listeners,
                receive_pool=receive_pool,
                object_pool=object_pool,
                store_meter=outside.store_meter,
                housekeeping=housekeeper.counters,
            )
        ),
    )


async def _set_going(parts: _Parts, bound: list[BoundListener], resources: AsyncExitStack) -> None:
    """Clients last: whoever gets in finds a broker that is a member of its cluster."""
    context = parts.context
    await context.membership.join()
    resources.push_async_callback(context.membership.leave)
    resources.push_async_callback(context.groups.close)
    if isinstance(context.control_plane, CommitNotices):
        context.control_plane.subscribe_commits(parts.parking.hear_of)
    for part in (parts.upkeep, parts.watch, parts.housekeeper):
        resources.push_async_callback(part.close)
        part.start()
    resources.push_async_callback(_drain, parts.listeners, context.writer, parts.parking, context.groups)
    await parts.listeners.start(bound)


async def _serve_metrics(
    settings: Settings, metrics: MetricsRegistry, membership: Membership, resources: AsyncExitStack
) -> HostPort | None:
    address = settings.server.metrics_address
    if address is None:
        return None
    server = MetricsServer(metrics, healthy=lambda: membership.holds_lease)
    port = await server.start(address.host, address.port)
    resources.push_async_callback(server.close)
    return HostPort(address.host, port)


def _bind_all(settings: Settings, resources: AsyncExitStack) -> list[BoundListener]:
    bound = []
    for address in settings.server.listeners:
        listener = bind(address)
        resources.callback(listener.socket.close)
        bound.append(listener)
    return bound


def _registration(
    settings: Settings, bound: list[BoundListener], *, incarnation: bytes
) -> BrokerRegistration:
    advertised = {address.name: address for address in settings.server.advertised_listeners}
    listeners = []
    for listener in bound:
        address = advertised.get(listener.address.name, listener.address)
        host = socket.getfqdn() if address.host in _ANY_HOSTS else address.host
        listeners.append(Listener(address.name, host, address.port or listener.address.port))
    return BrokerRegistration(settings.server.node_id, incarnation, settings.server.rack, listeners)


async def _drain(listeners: Listeners, writer: Writer, parking: ParkingLot, groups: GroupCoordinator) -> None:
    """Stop taking, flush, acknowledge, close."""
    parking.close()
    groups.stop()
    flushed = asyncio.gather(listeners.drain(), writer.flush())
    await flushed
    await writer.stop()
    await listeners.close()


async def serve(settings: Settings, *, on_ready: Callable[[RunningBroker], None]) -> None:
    """Runs a broker until SIGTERM or SIGINT, then stops it gracefully."""
    # Messages live shorter than a young collection takes to come round; the defaults find nothing but work.
    gc.set_threshold(*_GC_THRESHOLDS)
    # At the default of 5 ms a busy event loop can keep the storage and database threads waiting for seconds.
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    broker = await start_broker(settings)
    try:
        on_ready(broker)
        await stop.wait()
    finally:
        await broker.stop()

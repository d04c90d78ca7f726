"""The names under which a broker's numbers are published.

The hot paths count in plain integers; what they mean is said here, and docs/metrics.md is made from it.
"""

from dataclasses import dataclass

from inkless.buffers import BufferPool
from inkless.fetch.cache import ObjectCache
from inkless.fetch.parking import ParkingLot
from inkless.fetch.reader import RunReader
from inkless.housekeeping.counters import HousekeepingCounters
from inkless.observability import MetricsRegistry
from inkless.produce.writer import Writer
from inkless.server.context import BrokerContext
from inkless.server.dispatch import RequestDispatcher
from inkless.server.listener import Listeners
from inkless.storage.meter import StoreMeter


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The parts of a broker that count."""

    context: BrokerContext
    cache: ObjectCache
    parking: ParkingLot
    dispatcher: RequestDispatcher
    listeners: Listeners
    receive_pool: BufferPool
    object_pool: BufferPool
    store_meter: StoreMeter
    housekeeping: HousekeepingCounters


def publish(parts: Measured) -> MetricsRegistry:
    registry = MetricsRegistry()
    _publish_server(registry, parts)
    _publish_produce(registry, parts.context.writer)
    _publish_fetch(registry, parts.context.reader, parts.cache, parts.parking)
    _publish_store(registry, parts.store_meter)
    _publish_cluster(registry, parts)
    _publish_housekeeping(registry, parts.housekeeping)
    return registry


def _publish_server(registry: MetricsRegistry, parts: Measured) -> None:
    listeners, dispatcher = parts.listeners, parts.dispatcher
    registry.gauge("inkless.connections", "Open client connections.", lambda: len(listeners))
    registry.counter(
        "inkless.connections.accepted", "Connections accepted.", lambda: listeners.counters.accepted
    )
    registry.counter(
        "inkless.connections.refused",
        "Connections closed at once because max.connections was reached.",
        lambda: listeners.counters.refused,
    )
    registry.counter(
        "inkless.connections.idle.closed",
        "Connections closed for want of requests.",
        lambda: listeners.counters.idle_closed,
    )
    registry.counter(
        "inkless.connections.stalled.closed",
        "Connections closed because they held memory that others waited for.",
        lambda: listeners.counters.stalled_closed,
    )
    registry.labelled_counter(
        "inkless.requests",
        "Requests by API.",
        ("api",),
        lambda: {(name,): count for name, count in dispatcher.request_counts.items()},
    )
    registry.counter(
        "inkless.requests.malformed",
        "Requests that could not be understood; their connections were closed.",
        lambda: dispatcher.malformed_count,
    )
    registry.gauge(
        "inkless.receive.memory.bytes",
        "Buffers held by large requests, from their first byte until their batches are in an object.",
        lambda: parts.receive_pool.leased_bytes,
    )
    registry.gauge(
        "inkless.object.memory.bytes",
        "Buffers held by objects: uploading, cached, or being sent.",
        lambda: parts.object_pool.leased_bytes,
    )


def _publish_produce(registry: MetricsRegistry, writer: Writer) -> None:
    counters = writer.counters
    registry.counter("inkless.produce.objects", "WAL objects closed.", lambda: counters.objects)
    registry.counter(
        "inkless.produce.object.bytes", "Bytes of the WAL objects closed.", lambda: counters.object_bytes
    )
    registry.counter(
        "inkless.produce.batches",
        "Batches that were answered, refused ones included.",
        lambda: counters.batches,
    )
    registry.counter(
        "inkless.produce.refused.batches",
        "Batches that the coordinator refused.",
        lambda: counters.refused_batches,
    )
    registry.counter(
        "inkless.produce.upload.failures",
        "Objects that could not be uploaded within their deadline.",
        lambda: counters.upload_failures,
    )
    registry.counter(
        "inkless.produce.commit.failures",
        "Uploaded objects whose commit has no known outcome.",
        lambda: counters.commit_failures,
    )
    registry.gauge(
        "inkless.produce.unsettled.bytes",
        "Bytes taken from producers and not yet acknowledged.",
        lambda: writer.unsettled_bytes,
    )
    registry.histogram(
        "inkless.produce.object.age.seconds",
        "From an object's first byte to its acknowledgement.",
        writer.object_age_s,
    )


def _publish_fetch(
    registry: MetricsRegistry, reader: RunReader, cache: ObjectCache, parking: ParkingLot
) -> None:
    registry.counter("inkless.cache.hits", "Runs found in the cache.", lambda: cache.counters.hits)
    registry.counter("inkless.cache.misses", "Runs not found in the cache.", lambda: cache.counters.misses)
    registry.counter(
        "inkless.cache.shared.loads",
        "Reads that waited for somebody else's read of the same object.",
        lambda: cache.counters.shared_loads,
    )
    registry.gauge("inkless.cache.bytes", "Buffers held by the cache.", lambda: cache.bytes_used)
    registry.counter(
        "inkless.consume.hot.reads",
        "Reads of young objects, whole or a large run of them.",
        lambda: reader.counters.hot_reads,
    )
    registry.counter(
        "inkless.consume.cold.reads",
        "Ranges of old objects read from storage.",
        lambda: reader.counters.cold_reads,
    )
    registry.counter(
        "inkless.consume.read.bytes", "Bytes read from storage.", lambda: reader.counters.read_bytes
    )
    registry.counter(
        "inkless.consume.corrupt.runs",
        "Runs from storage that failed their check and were not served.",
        lambda: reader.counters.corrupt_runs,
    )
    registry.counter(
        "inkless.consume.missing.objects",
        "Objects that were gone when they were to be read.",
        lambda: reader.counters.missing_objects,
    )
    registry.gauge("inkless.consume.parked", "Fetches that wait for data.", lambda: len(parking))


def _publish_store(registry: MetricsRegistry, meter: StoreMeter) -> None:
    registry.labelled_counter(
        "inkless.storage.requests",
        "Requests to object storage by verb; this is what the provider charges for.",
        ("verb",),
        lambda: {(verb,): counts.request_count for verb, counts in meter.by_verb.items()},
    )
    registry.labelled_counter(
        "inkless.storage.errors",
        "Requests to object storage that failed.",
        ("verb",),
        lambda: {(verb,): counts.error_count for verb, counts in meter.by_verb.items()},
    )
    registry.labelled_counter(
        "inkless.storage.bytes",
        "Bytes to and from object storage.",
        ("verb",),
        lambda: {(verb,): counts.byte_count for verb, counts in meter.by_verb.items()},
    )
    registry.labelled_histogram(
        "inkless.storage.request.seconds",
        "How long object storage took.",
        ("verb",),
        lambda: {(verb,): counts.latency_s for verb, counts in meter.by_verb.items()},
    )
    registry.counter("inkless.storage.hedges", "Reads sent a second time.", lambda: meter.hedge_count)


def _publish_cluster(registry: MetricsRegistry, parts: Measured) -> None:
    context = parts.context
    registry.gauge("inkless.topics", "Topics this broker knows.", lambda: len(context.directory))
    registry.gauge(
        "inkless.brokers", "Living brokers this broker knows.", lambda: len(context.membership.brokers)
    )
    registry.gauge("inkless.groups", "Consumer groups this broker coordinates.", lambda: len(context.groups))
    registry.gauge(
        "inkless.fetch.sessions", "Incremental fetch sessions.", lambda: len(context.fetch_sessions)
    )


def _publish_housekeeping(registry: MetricsRegistry, counters: HousekeepingCounters) -> None:
    registry.counter(
        "inkless.retention.rounds",
        "Rounds of retention over all partitions that this broker began.",
        lambda: counters.retention_rounds,
    )
    registry.counter(
        "inkless.retention.moves",
        "Log starts that retention moved.",
        lambda: counters.log_starts_moved,
    )
    registry.counter(
        "inkless.delete.objects",
        "Objects deleted because nothing referred to them any more.",
        lambda: counters.deleted_objects,
    )
    registry.counter(
        "inkless.delete.bytes",
        "Bytes of the objects deleted, orphans not counted.",
        lambda: counters.deleted_bytes,
    )
    registry.gauge(
        "inkless.delete.backlog",
        "Objects found for deletion at the last look and not deleted yet; counts up to one batch.",
        lambda: counters.waiting_objects,
    )
    registry.counter(
        "inkless.orphans.found",
        "Objects found in storage that nobody had committed; they are deleted after the grace period.",
        lambda: counters.orphans_found,
    )
    registry.counter("inkless.orphans.bytes", "Bytes of those.", lambda: counters.orphan_bytes_found)
    registry.counter(
        "inkless.producers.expired",
        "Producer states forgotten for want of use.",
        lambda: counters.producers_expired,
    )
    registry.counter(
        "inkless.housekeeping.failures",
        "Steps of housekeeping that failed and were tried again.",
        lambda: counters.failed_steps,
    )

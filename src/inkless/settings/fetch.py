"""Settings of the fetch path: cache, hot and cold reads, sessions, parked fetches."""

from dataclasses import dataclass

from inkless.settings.keys import setting
from inkless.settings.kinds import KIB, LONG_MAX, MIB, Decimal, Whole, byte_count, milliseconds


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """Reading objects and answering fetches."""

    cache_bytes_max: int = setting(
        "inkless.consume.cache.max.bytes",
        128 * MIB,
        byte_count(0, LONG_MAX),
        "Object bytes kept in memory; 0 keeps none.",
    )
    cache_written_share: float = setting(
        "inkless.consume.cache.written.share",
        0.7,
        Decimal(0, 1),
        "The part of the cache for what this broker wrote; the rest is for what it read.",
    )
    hot_window_ms: int = setting(
        "inkless.consume.hot.window.ms",
        600_000,
        milliseconds(0, LONG_MAX),
        "Objects older than this take the cold path, which has limits of its own and leaves the cache alone.",
    )
    hot_reads_max: int = setting(
        "inkless.consume.hot.read.concurrency",
        16,
        Whole(1, 1024),
        "Reads of recent objects from the store at once.",
    )
    cold_reads_max: int = setting(
        "inkless.consume.cold.read.concurrency",
        4,
        Whole(1, 1024),
        "Reads of old objects from the store at once.",
    )
    read_deadline_ms: int = setting(
        "inkless.consume.read.deadline.ms",
        10_000,
        milliseconds(1),
        "A read from the store that has not succeeded by then fails its fetch, which clients retry.",
    )
    response_bytes_max: int = setting(
        "fetch.max.bytes",
        55 * MIB,
        byte_count(KIB),
        "The most record bytes in one fetch response, whatever the client asks for; one batch always fits.",
    )
    sessions_max: int = setting(
        "max.incremental.fetch.session.cache.slots",
        1000,
        Whole(0, 1_000_000),
        "Incremental fetch sessions (KIP-227) kept; 0 keeps none.",
    )
    poll_interval_ms: int = setting(
        "inkless.consume.poll.interval.ms",
        100,
        milliseconds(1, 60_000),
        "How often the broker looks for commits of others, for all parked fetches together.",
    )
    wait_max_ms: int = setting(
        "inkless.consume.max.wait.ms",
        60_000,
        milliseconds(0, 3_600_000),
        "The longest a fetch is parked, whatever the client asks for.",
    )

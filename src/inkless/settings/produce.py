"""Settings of the produce path: when a WAL object is closed, and how much may be under way."""

from dataclasses import dataclass

from inkless.settings.keys import setting
from inkless.settings.kinds import KIB, LONG_MAX, MIB, Decimal, Whole, byte_count, milliseconds


@dataclass(frozen=True, slots=True)
class ProduceSettings:
    """Rotation, upload and commit of WAL objects."""

    buffer_bytes_max: int = setting(
        "inkless.produce.buffer.max.bytes",
        8 * MIB,
        byte_count(KIB),
        "The WAL buffer rotates when it has this many bytes.",
    )
    commit_interval_ms: int = setting(
        "inkless.produce.commit.interval.ms",
        250,
        milliseconds(1, 60_000),
        "The WAL buffer rotates at the latest this long after its first byte.",
    )
    settle_ms: float = setting(
        "inkless.produce.settle.ms",
        2.0,
        Decimal(0, 60_000, "ms"),
        "The WAL buffer rotates early when nothing has arrived for this long.",
    )
    linger_ms: float = setting(
        "inkless.produce.linger.ms",
        5.0,
        Decimal(0, 60_000, "ms"),
        "The WAL buffer rotates early this long after its first byte when no upload is running.",
    )
    uploads_max: int = setting(
        "inkless.produce.upload.concurrency",
        8,
        Whole(1, 1024),
        "WAL objects uploaded at once.",
    )
    put_rate_max: float = setting(
        "inkless.produce.max.puts.per.second",
        0.0,
        Decimal(0, 1_000_000, "per second"),
        "WAL objects written per second by one broker, which bounds what a store that charges for requests "
        "can cost; 0 means no limit.",
        derived="0 for file and memory stores, 20 for all others",
    )
    batches_per_object_max: int = setting(
        "inkless.produce.object.max.batches",
        4096,
        Whole(1, 1_000_000),
        "The WAL buffer rotates when it has this many batches.",
    )
    memory_bytes_max: int = setting(
        "inkless.produce.memory.max.bytes",
        96 * MIB,
        byte_count(MIB, LONG_MAX),
        "Bytes buffered and being uploaded; beyond it producers' sockets are not read.",
    )
    upload_deadline_ms: int = setting(
        "inkless.produce.upload.deadline.ms",
        30_000,
        milliseconds(1),
        "An upload that has not succeeded by then fails the requests in its object, which clients retry.",
    )
    commit_deadline_ms: int = setting(
        "inkless.produce.commit.deadline.ms",
        30_000,
        milliseconds(1),
        "A commit that has not been answered by then fails the requests in its objects, which clients retry.",
    )

"""Settings of housekeeping: retention, deletion of objects, orphans, unused producers."""

from dataclasses import dataclass

from inkless.settings.keys import setting
from inkless.settings.kinds import LONG_MAX, Whole, milliseconds


@dataclass(frozen=True, slots=True)
class HousekeepingSettings:
    """What keeps storage and control plane from growing for ever."""

    retention_interval_ms: int = setting(
        "log.retention.check.interval.ms",
        300_000,
        milliseconds(1, LONG_MAX),
        "How often the cluster looks for records that retention no longer keeps.",
        aliases=("inkless.retention.enforcement.interval.ms",),
    )
    retention_partitions_max: int = setting(
        "inkless.retention.batch.partitions",
        100,
        Whole(1, 10_000),
        "Partitions that one call to the control plane applies retention to.",
    )
    cleaner_interval_ms: int = setting(
        "inkless.file.cleaner.interval.ms",
        60_000,
        milliseconds(1, LONG_MAX),
        "How often the cluster looks for objects to delete; while it finds more, it goes on at once.",
    )
    cleaner_grace_ms: int = setting(
        "inkless.file.cleaner.grace.ms",
        600_000,
        milliseconds(0, LONG_MAX),
        "How long an object is kept after the last reference to it is gone, for those who are reading it.",
        aliases=("inkless.file.cleaner.retention.period.ms",),
    )
    cleaner_objects_max: int = setting(
        "inkless.file.cleaner.batch.objects",
        1000,
        Whole(1, 10_000),
        "Objects deleted at once.",
    )
    orphan_interval_ms: int = setting(
        "inkless.orphan.check.interval.ms",
        21_600_000,
        milliseconds(1, LONG_MAX),
        "In what time the whole of storage is looked through for objects that were never committed.",
    )
    orphan_age_ms: int = setting(
        "inkless.orphan.age.ms",
        3_600_000,
        milliseconds(60_000, LONG_MAX),
        "How old an object must be to count as one whose commit will not come.",
    )
    producer_expiration_ms: int = setting(
        "producer.id.expiration.ms",
        86_400_000,
        milliseconds(1, LONG_MAX),
        "How long the last sequence numbers of an idempotent producer that sends nothing are kept.",
    )
    producer_interval_ms: int = setting(
        "producer.id.expiration.check.interval.ms",
        600_000,
        milliseconds(1, LONG_MAX),
        "How often the cluster looks for such producers.",
    )

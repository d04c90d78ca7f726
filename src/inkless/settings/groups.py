"""Settings of the group coordinator."""

from dataclasses import dataclass

from inkless.settings.keys import setting
from inkless.settings.kinds import Whole, byte_count, milliseconds


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """What members of consumer groups may ask for, and how long their offsets are kept."""

    session_timeout_min_ms: int = setting(
        "group.min.session.timeout.ms",
        6_000,
        milliseconds(1),
        "The shortest session time-out a member may ask for.",
    )
    session_timeout_max_ms: int = setting(
        "group.max.session.timeout.ms",
        1_800_000,
        milliseconds(1),
        "The longest session time-out a member may ask for.",
    )
    initial_rebalance_delay_ms: int = setting(
        "group.initial.rebalance.delay.ms",
        100,
        milliseconds(0),
        "How long an empty group waits for further members before its first rebalance ends.",
    )
    members_max: int = setting(
        "group.max.size",
        10_000,
        Whole(1),
        "The most members of one group.",
    )
    groups_max: int = setting(
        "inkless.groups.max",
        100_000,
        Whole(1),
        "The most groups one broker keeps in memory.",
    )
    offset_metadata_bytes_max: int = setting(
        "offset.metadata.max.bytes",
        4096,
        byte_count(0),
        "The longest note a client may store with a committed offset.",
    )
    offsets_retention_minutes: int = setting(
        "offsets.retention.minutes",
        10_080,
        Whole(1, unit="minutes"),
        "How long the offsets of a group without members are kept.",
    )

"""The topic configs that exist, as Kafka lists them, each declared once.

Tools set configs that mean nothing to a diskless topic (segment sizes, flushing, unclean elections). Those
are taken and checked like the others, so that the tools go on working, and described as having no effect.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from inkless.settings.kinds import (
    KIB,
    LONG_MAX,
    MIB,
    Choice,
    ConfigType,
    Decimal,
    FixedSwitch,
    Kind,
    Switch,
    Text,
    Whole,
    WordList,
    byte_count,
    milliseconds,
)

_DAY_MS = 86_400_000
_MINUTE_MS = 60_000
_HOUR_MS = 3_600_000
_UNUSED = "Has no effect on diskless topics."


class Synonym(NamedTuple):
    """A broker key that gives a topic config's default; one of its units is `factor` of the config's."""

    key: str
    factor: int = 1


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """One topic config. Of its synonyms the first one that is set counts."""

    name: str
    kind: Kind[Any]
    default: Any
    synonyms: tuple[Synonym, ...]
    doc: str


def _config(name: str, default: Any, kind: Kind[Any], doc: str, *synonyms: Synonym | str) -> TopicConfig:
    as_synonyms = tuple(Synonym(each) if isinstance(each, str) else each for each in synonyms)
    return TopicConfig(name, kind, default, as_synonyms, doc)


_REPLICA_LIST = Text("partition:broker pairs with commas between them, or *", ConfigType.LIST)

TOPIC_CONFIGS: dict[str, TopicConfig] = {
    each.name: each
    for each in (
        _config(
            "cleanup.policy",
            ("delete",),
            WordList(("delete", "compact")),
            "What happens to old records: deleted by age and size, compacted by key, or both.",
            "log.cleanup.policy",
        ),
        _config(
            "compression.type",
            "producer",
            Choice(("producer",)),
            "Batches are kept as the producer compressed them; brokers never recompress.",
            "compression.type",
        ),
        _config(
            "delete.retention.ms",
            _DAY_MS,
            milliseconds(0, LONG_MAX),
            "How long compaction keeps the markers of deleted keys.",
            "log.cleaner.delete.retention.ms",
        ),
        _config(
            "diskless.enable",
            True,
            FixedSwitch(value=True),
            "Every topic is diskless here.",
            "log.diskless.enable",
        ),
        _config(
            "file.delete.delay.ms",
            60_000,
            milliseconds(0, LONG_MAX),
            _UNUSED,
            "log.segment.delete.delay.ms",
        ),
        _config(
            "flush.messages",
            LONG_MAX,
            Whole(1, LONG_MAX),
            _UNUSED,
            "log.flush.interval.messages",
        ),
        _config("flush.ms", LONG_MAX, milliseconds(0, LONG_MAX), _UNUSED, "log.flush.interval.ms"),
        _config("follower.replication.throttled.replicas", "", _REPLICA_LIST, _UNUSED),
        _config("index.interval.bytes", 4 * KIB, byte_count(0), _UNUSED, "log.index.interval.bytes"),
        _config("leader.replication.throttled.replicas", "", _REPLICA_LIST, _UNUSED),
        _config(
            "local.retention.bytes",
            -2,
            byte_count(-2, LONG_MAX),
            _UNUSED,
            "log.local.retention.bytes",
        ),
        _config(
            "local.retention.ms",
            -2,
            milliseconds(-2, LONG_MAX),
            _UNUSED,
            "log.local.retention.ms",
        ),
        _config(
            "max.compaction.lag.ms",
            LONG_MAX,
            milliseconds(1, LONG_MAX),
            "The longest a record may stay out of compaction.",
            "log.cleaner.max.compaction.lag.ms",
        ),
        _config(
            "max.message.bytes",
            MIB + 12,
            byte_count(0),
            "The largest record batch a producer may send, compressed.",
            "message.max.bytes",
        ),
        _config(
            "message.timestamp.after.max.ms",
            _HOUR_MS,
            milliseconds(0, LONG_MAX),
            "How far a record's timestamp may be ahead of the broker's clock.",
            "log.message.timestamp.after.max.ms",
        ),
        _config(
            "message.timestamp.before.max.ms",
            LONG_MAX,
            milliseconds(0, LONG_MAX),
            "How far a record's timestamp may be behind the broker's clock.",
            "log.message.timestamp.before.max.ms",
        ),
        _config(
            "message.timestamp.type",
            "CreateTime",
            Choice(("CreateTime", "LogAppendTime")),
            "Whether a record's time is the producer's or that of its arrival.",
            "log.message.timestamp.type",
        ),
        _config(
            "min.cleanable.dirty.ratio",
            0.5,
            Decimal(0, 1),
            "The part of a log that must be new before compaction rewrites it.",
            "log.cleaner.min.cleanable.ratio",
        ),
        _config(
            "min.compaction.lag.ms",
            0,
            milliseconds(0, LONG_MAX),
            "The shortest a record stays out of compaction.",
            "log.cleaner.min.compaction.lag.ms",
        ),
        _config(
            "min.insync.replicas",
            1,
            Whole(1),
            "Has no effect on diskless topics, whose data is durable in object storage before the answer.",
            "min.insync.replicas",
        ),
        _config("preallocate", False, Switch(), _UNUSED, "log.preallocate"),
        _config("remote.storage.enable", False, FixedSwitch(value=False), _UNUSED),
        _config(
            "retention.bytes",
            -1,
            byte_count(-1, LONG_MAX),
            "How large a partition may grow before its oldest records are deleted; -1 means without limit.",
            "log.retention.bytes",
        ),
        _config(
            "retention.ms",
            7 * _DAY_MS,
            milliseconds(-1, LONG_MAX),
            "How long records are kept; -1 means for ever.",
            "log.retention.ms",
            Synonym("log.retention.minutes", _MINUTE_MS),
            Synonym("log.retention.hours", _HOUR_MS),
        ),
        _config("segment.bytes", 1024 * MIB, byte_count(14), _UNUSED, "log.segment.bytes"),
        _config("segment.index.bytes", 10 * MIB, byte_count(4), _UNUSED, "log.index.size.max.bytes"),
        _config(
            "segment.jitter.ms",
            0,
            milliseconds(0, LONG_MAX),
            _UNUSED,
            "log.roll.jitter.ms",
            Synonym("log.roll.jitter.hours", _HOUR_MS),
        ),
        _config(
            "segment.ms",
            7 * _DAY_MS,
            milliseconds(1, LONG_MAX),
            _UNUSED,
            "log.roll.ms",
            Synonym("log.roll.hours", _HOUR_MS),
        ),
        _config(
            "unclean.leader.election.enable",
            False,
            Switch(),
            _UNUSED,
            "unclean.leader.election.enable",
        ),
    )
}
"""By name, in the order of the alphabet, which is the order tools show."""

SYNONYMS: dict[str, tuple[TopicConfig, Synonym]] = {
    synonym.key: (config, synonym) for config in TOPIC_CONFIGS.values() for synonym in config.synonyms
}
"""By broker key: the topic config it gives the default of."""


def parse_broker_value(text: str, *, config: TopicConfig, synonym: Synonym) -> Any:
    """The value that a broker key's text gives to its topic config; ValueError on text that is not allowed.

    A negative number keeps its meaning (-1 hours is no limit, not minus one hour).
    """
    if synonym.factor == 1:
        return config.kind.parse(text)
    count = int(text)
    return config.kind.parse(str(count if count < 0 else count * synonym.factor))

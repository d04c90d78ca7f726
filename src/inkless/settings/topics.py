"""From what a topic and its broker say to the values the code uses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from inkless.errors import RequestError
from inkless.protocol.error_codes import ErrorCode
from inkless.settings.topic_table import TOPIC_CONFIGS


@dataclass(frozen=True, slots=True)
class TopicConfigs:
    """The effective values of one topic, as far as the code acts on them. -1 means no limit."""

    max_message_bytes: int
    log_append_time: bool
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    retention_ms: int
    retention_bytes: int
    cleanup_policy: tuple[str, ...]
    delete_retention_ms: int
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    min_cleanable_dirty_ratio: float

    @property
    def deletes(self) -> bool:
        """Whether retention removes old records."""
        return "delete" in self.cleanup_policy

    @property
    def compacts(self) -> bool:
        """Whether only the newest record of a key is kept."""
        return "compact" in self.cleanup_policy


@dataclass(frozen=True, slots=True)
class TopicDefaults:
    """What the broker's own configuration makes the defaults of topic configs.

    `given` holds the parsed values by topic config name, `given_as` the broker key each came from.
    """

    given: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    given_as: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def value(self, name: str) -> Any:
        """The value of a topic config for a topic that does not set it."""
        return self.given.get(name, TOPIC_CONFIGS[name].default)

    def effective(self, own: Mapping[str, str]) -> TopicConfigs:
        """The values of a topic with configs of its own, which `validate_topic_configs` has let pass."""

        def value(name: str) -> Any:
            text = own.get(name)
            return self.value(name) if text is None else TOPIC_CONFIGS[name].kind.parse(text)

        return TopicConfigs(
            max_message_bytes=value("max.message.bytes"),
            log_append_time=value("message.timestamp.type") == "LogAppendTime",
            timestamp_before_max_ms=value("message.timestamp.before.max.ms"),
            timestamp_after_max_ms=value("message.timestamp.after.max.ms"),
            retention_ms=value("retention.ms"),
            retention_bytes=value("retention.bytes"),
            cleanup_policy=value("cleanup.policy"),
            delete_retention_ms=value("delete.retention.ms"),
            min_compaction_lag_ms=value("min.compaction.lag.ms"),
            max_compaction_lag_ms=value("max.compaction.lag.ms"),
            min_cleanable_dirty_ratio=value("min.cleanable.dirty.ratio"),
        )


def validate_topic_configs(configs: Mapping[str, str | None]) -> dict[str, str]:
    """The configs of a topic as they are to be stored; RequestError(INVALID_CONFIG) names the first bad one.

    A value of None is as good as no value where a topic is created, but cannot be stored, so it is refused
    with a name rather than dropped in silence.
    """
    return {name: _validated(name, text) for name, text in configs.items()}


def _validated(name: str, text: str | None) -> str:
    config = TOPIC_CONFIGS.get(name)
    if config is None:
        raise RequestError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
    if text is None:
        raise RequestError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic config: {name}")
    stripped = text.strip()
    try:
        config.kind.parse(stripped)
    except ValueError as error:
        raise RequestError(
            ErrorCode.INVALID_CONFIG,
            f"Invalid value {stripped} for configuration {name}: allowed is {config.kind.allowed}",
        ) from error
    return stripped

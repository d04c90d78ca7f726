import pytest

from inkless.errors import RequestError
from inkless.protocol.error_codes import ErrorCode
from inkless.settings import TopicDefaults, load_settings, validate_topic_configs
from inkless.settings.topic_table import TOPIC_CONFIGS

LONG_MAX = 2**63 - 1


def test_defaults_are_kafkas() -> None:
    configs = TopicDefaults().effective({})
    assert configs.max_message_bytes == 1048588
    assert configs.retention_ms == 604_800_000
    assert configs.retention_bytes == -1
    assert configs.timestamp_before_max_ms == LONG_MAX
    assert configs.timestamp_after_max_ms == 3_600_000
    assert not configs.log_append_time
    assert configs.deletes
    assert not configs.compacts


def test_topic_beats_broker_beats_default() -> None:
    defaults = load_settings(None, {"message.max.bytes": "2000", "log.retention.bytes": "7"}).settings.topics
    configs = defaults.effective({"retention.bytes": "9", "cleanup.policy": "compact, delete"})
    assert configs.max_message_bytes == 2000
    assert configs.retention_bytes == 9
    assert configs.compacts
    assert configs.deletes


@pytest.mark.parametrize(
    ("overrides", "retention_ms"),
    [
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "1"}, 60_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "1", "log.retention.ms": "5"}, 5),
        ({"log.retention.hours": "-1"}, -1),
    ],
)
def test_finest_retention_counts(overrides: dict[str, str], retention_ms: int) -> None:
    assert load_settings(None, overrides).settings.topics.effective({}).retention_ms == retention_ms


def test_log_append_time_is_recognised() -> None:
    assert TopicDefaults().effective({"message.timestamp.type": "LogAppendTime"}).log_append_time


def test_valid_configs_come_back_trimmed() -> None:
    assert validate_topic_configs({"retention.ms": " 5 ", "segment.bytes": "1024"}) == {
        "retention.ms": "5",
        "segment.bytes": "1024",
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retention.ms", "-2"),
        ("retention.ms", "1h"),
        ("cleanup.policy", "shred"),
        ("cleanup.policy", ""),
        ("compression.type", "gzip"),
        ("diskless.enable", "false"),
        ("remote.storage.enable", "true"),
        ("message.timestamp.type", "Never"),
        ("min.insync.replicas", "0"),
        ("no.such.config", "1"),
        ("retention.ms", None),
    ],
)
def test_bad_topic_config_is_refused_by_name(name: str, value: str | None) -> None:
    with pytest.raises(RequestError, match=name.replace(".", r"\.")) as caught:
        validate_topic_configs({name: value})
    assert caught.value.code is ErrorCode.INVALID_CONFIG


def test_every_default_is_itself_allowed() -> None:
    own = {name: config.kind.render(config.default) for name, config in TOPIC_CONFIGS.items()}
    assert TopicDefaults().effective(validate_topic_configs(own)) == TopicDefaults().effective({})


def test_table_is_in_the_order_tools_show() -> None:
    assert list(TOPIC_CONFIGS) == sorted(TOPIC_CONFIGS)

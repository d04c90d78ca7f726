from inkless.settings import TopicDefaults, load_settings
from inkless.settings.describe import ConfigRow, ConfigSource, ConfigSynonym, describe_broker, describe_topic
from inkless.settings.kinds import ConfigType
from inkless.settings.topic_table import TOPIC_CONFIGS


def _by_name(rows: list[ConfigRow]) -> dict[str, ConfigRow]:
    return {row.name: row for row in rows}


def test_topic_row_says_where_its_value_comes_from() -> None:
    defaults = load_settings(None, {"log.retention.hours": "1"}).settings.topics
    row = _by_name(describe_topic({"retention.ms": "5"}, defaults))["retention.ms"]
    assert (row.value, row.source, row.type) == ("5", ConfigSource.DYNAMIC_TOPIC, ConfigType.LONG)
    assert row.synonyms == (
        ConfigSynonym("retention.ms", "5", ConfigSource.DYNAMIC_TOPIC),
        ConfigSynonym("log.retention.hours", "3600000", ConfigSource.STATIC_BROKER),
        ConfigSynonym("log.retention.ms", "604800000", ConfigSource.DEFAULT),
    )
    inherited = _by_name(describe_topic({}, defaults))["retention.ms"]
    assert (inherited.value, inherited.source) == ("3600000", ConfigSource.STATIC_BROKER)


def test_every_topic_config_is_described() -> None:
    rows = describe_topic({}, TopicDefaults())
    assert [row.name for row in rows] == list(TOPIC_CONFIGS)
    assert all(row.doc and not row.read_only and row.source is ConfigSource.DEFAULT for row in rows)


def test_broker_row_shows_what_was_configured() -> None:
    settings = load_settings(None, {"broker.id": "3", "listeners": "PLAINTEXT://127.0.0.1:0"}).settings
    rows = _by_name(describe_broker(settings))
    assert (rows["node.id"].value, rows["node.id"].source) == ("3", ConfigSource.STATIC_BROKER)
    assert rows["listeners"].value == "PLAINTEXT://127.0.0.1:0"
    assert (rows["num.partitions"].value, rows["num.partitions"].source) == ("1", ConfigSource.DEFAULT)
    assert rows["log.retention.ms"].value == "604800000"
    assert rows["inkless.data.dir"].value == str(settings.data_dir)
    assert all(row.read_only for row in rows.values())


def test_secrets_of_a_broker_are_not_described() -> None:
    overrides = {
        "inkless.storage.s3.secret.access.key": "hush-1",
        "inkless.control.plane.url": "postgresql://u:hush-2@h/d",
    }
    rows = describe_broker(load_settings(None, overrides).settings)
    assert "hush" not in repr(rows)
    assert _by_name(rows)["inkless.storage.s3.secret.access.key"].sensitive


def test_broker_names_are_unique_and_sorted() -> None:
    names = [row.name for row in describe_broker(load_settings(None, {}).settings)]
    assert names == sorted(set(names))

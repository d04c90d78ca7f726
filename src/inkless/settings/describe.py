"""What DescribeConfigs answers, for topics and for brokers: every config, where its value comes from, its
type and what it means."""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from inkless.settings.keys import Key, keys_of
from inkless.settings.kinds import ConfigType
from inkless.settings.sections import SECTIONS, Settings
from inkless.settings.topic_table import TOPIC_CONFIGS, TopicConfig
from inkless.settings.topics import TopicDefaults


class ConfigSource(IntEnum):
    """The sources of DescribeConfigs (KIP-226)."""

    UNKNOWN = 0
    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


class ConfigSynonym(NamedTuple):
    """One of the places a value can come from, under the name it has there."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigRow(NamedTuple):
    """One config as DescribeConfigs shows it; a sensitive value is None."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]
    type: ConfigType
    doc: str


def describe_topic(own: Mapping[str, str], defaults: TopicDefaults) -> list[ConfigRow]:
    """Every topic config of a topic, by name; its synonyms in the order in which they would count."""
    return [_topic_row(config, own.get(config.name), defaults) for config in TOPIC_CONFIGS.values()]


def describe_broker(settings: Settings) -> list[ConfigRow]:
    """Every config of the broker that `settings` belongs to, by name. All are read when it starts."""
    rows = [*_section_rows(settings), *_topic_default_rows(settings)]
    return sorted(rows, key=lambda row: row.name)


def _topic_row(config: TopicConfig, own: str | None, defaults: TopicDefaults) -> ConfigRow:
    synonyms = [*_default_synonyms(config, defaults)]
    if own is not None:
        synonyms.insert(0, ConfigSynonym(config.name, own, ConfigSource.DYNAMIC_TOPIC))
    return ConfigRow(
        name=config.name,
        value=synonyms[0].value,
        source=synonyms[0].source,
        read_only=False,
        sensitive=False,
        synonyms=tuple(synonyms),
        type=config.kind.config_type,
        doc=config.doc,
    )


def _default_synonyms(config: TopicConfig, defaults: TopicDefaults) -> Iterator[ConfigSynonym]:
    if config.name in defaults.given:
        value = config.kind.render(defaults.given[config.name])
        yield ConfigSynonym(defaults.given_as[config.name], value, ConfigSource.STATIC_BROKER)
    name = config.synonyms[0].key if config.synonyms else config.name
    yield ConfigSynonym(name, config.kind.render(config.default), ConfigSource.DEFAULT)


def _section_rows(settings: Settings) -> Iterator[ConfigRow]:
    for field_name, section in SECTIONS.items():
        held = getattr(settings, field_name)
        for bound in keys_of(section.declared_by):
            text = bound.key.kind.render(getattr(held, bound.field_name))
            yield _broker_row(bound.key, text or None, given=bound.key.name in settings.given)


def _broker_row(key: Key, text: str | None, *, given: bool) -> ConfigRow:
    value = None if key.sensitive else text
    source = ConfigSource.STATIC_BROKER if given else ConfigSource.DEFAULT
    return ConfigRow(
        name=key.name,
        value=value,
        source=source,
        read_only=True,
        sensitive=key.sensitive,
        synonyms=(ConfigSynonym(key.name, value, source),),
        type=key.kind.config_type,
        doc=key.doc,
    )


def _topic_default_rows(settings: Settings) -> Iterator[ConfigRow]:
    for config in TOPIC_CONFIGS.values():
        for synonym in config.synonyms:
            given = settings.given.get(synonym.key)
            if given is None and synonym != config.synonyms[0]:
                continue
            value = config.kind.render(settings.topics.value(config.name)) if given is None else given
            yield ConfigRow(
                name=synonym.key,
                value=value,
                source=ConfigSource.DEFAULT if given is None else ConfigSource.STATIC_BROKER,
                read_only=True,
                sensitive=False,
                synonyms=(),
                type=config.kind.config_type,
                doc=f"The default of the topic config {config.name}. {config.doc}",
            )

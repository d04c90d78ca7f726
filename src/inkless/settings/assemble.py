"""From the texts a user gave to complete `Settings`: parse, fill in what depends on other settings, check."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from inkless.errors import ConfigurationError
from inkless.settings.backends import BackendNames
from inkless.settings.control_plane import ControlPlaneSettings
from inkless.settings.keys import keys_of
from inkless.settings.produce import ProduceSettings
from inkless.settings.rules import check_rules
from inkless.settings.sections import SECTIONS, LocationSettings, Settings
from inkless.settings.storage import StorageSettings
from inkless.settings.topic_table import TOPIC_CONFIGS, Synonym, TopicConfig, parse_broker_value
from inkless.settings.topics import TopicDefaults
from inkless.settings.urls import (
    CONTROL_PLANE_SCHEMES,
    LOCAL_STORAGE_SCHEMES,
    STORAGE_SCHEMES,
    check_scheme,
    scheme_of,
)

_REMOTE_PUT_RATE_MAX = 20.0


def assemble(given: Mapping[str, str]) -> Settings:
    """The settings that texts by key name give; ConfigurationError names the first that is not allowed."""
    parts = {name: _section(section.declared_by, given) for name, section in SECTIONS.items()}
    data_dir: Path = parts["location"].data_dir.absolute()
    parts["location"] = LocationSettings(data_dir)
    backends: BackendNames = parts["backends"]
    parts["storage"] = _complete_storage(parts["storage"], given, lambda: backends.storage_url(data_dir))
    parts["control_plane"] = _complete_control_plane(
        parts["control_plane"], lambda: backends.control_plane_url(data_dir)
    )
    parts["produce"] = _complete_produce(parts["produce"], given, parts["storage"])
    check_rules(server=parts["server"], produce=parts["produce"], groups=parts["groups"])
    return Settings(topics=_topic_defaults(given), given=MappingProxyType(dict(given)), **parts)


def _section(declared_by: type[Any], given: Mapping[str, str]) -> Any:
    bound = keys_of(declared_by)
    return declared_by(**{name: key.parse(given[key.name]) for name, key in bound if key.name in given})


def _complete_storage(
    storage: StorageSettings, given: Mapping[str, str], default_url: Callable[[], str]
) -> StorageSettings:
    url = storage.url or default_url()
    check_scheme(url, key="inkless.storage.url", allowed=STORAGE_SCHEMES)
    allow_http = storage.s3_allow_http
    if "inkless.storage.s3.allow.http" not in given:
        allow_http = (storage.s3_endpoint or "").startswith("http://")
    return replace(storage, url=url, s3_allow_http=allow_http)


def _complete_control_plane(
    control_plane: ControlPlaneSettings, default_url: Callable[[], str]
) -> ControlPlaneSettings:
    url = (control_plane.url or default_url()).removeprefix("jdbc:")
    check_scheme(url, key="inkless.control.plane.url", allowed=CONTROL_PLANE_SCHEMES)
    return replace(control_plane, url=url)


def _complete_produce(
    produce: ProduceSettings, given: Mapping[str, str], storage: StorageSettings
) -> ProduceSettings:
    charged = scheme_of(storage.url) not in LOCAL_STORAGE_SCHEMES
    if "inkless.produce.max.puts.per.second" in given or not charged:
        return produce
    return replace(produce, put_rate_max=_REMOTE_PUT_RATE_MAX)


def _topic_defaults(given: Mapping[str, str]) -> TopicDefaults:
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for config in TOPIC_CONFIGS.values():
        # All are parsed, so that a bad value is an error even where a finer synonym hides it.
        written = [
            (each, _broker_value(given, config, each)) for each in config.synonyms if each.key in given
        ]
        if written:
            synonym, values[config.name] = written[0]
            sources[config.name] = synonym.key
    return TopicDefaults(MappingProxyType(values), MappingProxyType(sources))


def _broker_value(given: Mapping[str, str], config: TopicConfig, synonym: Synonym) -> Any:
    text = given[synonym.key].strip()
    try:
        return parse_broker_value(text, config=config, synonym=synonym)
    except ValueError as error:
        unit = f" (in {config.kind.unit}, of which one here counts {synonym.factor})" * (synonym.factor > 1)
        raise ConfigurationError(
            f"{synonym.key}: {text!r} is not allowed; allowed is {config.kind.allowed}{unit}"
        ) from error

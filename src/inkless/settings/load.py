"""From a properties file and overrides to `Settings`."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from inkless.errors import ConfigurationError
from inkless.settings.assemble import assemble
from inkless.settings.properties import parse_properties
from inkless.settings.sections import Settings, declared_keys
from inkless.settings.topic_table import SYNONYMS

_FILE_BYTES_MAX = 1024 * 1024


class UnknownKey(NamedTuple):
    """A key nobody reads, and the known one it looks most like."""

    name: str
    did_you_mean: str | None

    def __str__(self) -> str:
        hint = f"; did you mean {self.did_you_mean}?" if self.did_you_mean else ""
        return f"unknown configuration key {self.name}{hint}"


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings, and what the user wrote that had no effect on them."""

    settings: Settings
    unknown: list[UnknownKey]


def load_settings(path: Path | None = None, overrides: Mapping[str, str] | None = None) -> LoadedSettings:
    """Defaults, then the properties file, then the overrides; ConfigurationError where a value is not
    allowed."""
    names = _names_by_spelling()
    sources = [_read(path) if path is not None else {}, overrides or {}]
    given: dict[str, str] = {}
    for source in sources:
        given.update(_by_name(source, names))
    unknown = [_unknown(key, names) for key in dict.fromkeys(key for source in sources for key in source)]
    return LoadedSettings(assemble(given), [each for each in unknown if each is not None])


def _read(path: Path) -> dict[str, str]:
    try:
        with path.open("rb") as file:
            content = file.read(_FILE_BYTES_MAX + 1)
        if len(content) > _FILE_BYTES_MAX:
            raise ConfigurationError(f"{path}: larger than the {_FILE_BYTES_MAX} bytes that are allowed")
        return parse_properties(content.decode())
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path}: cannot be read: {error}") from error


def _names_by_spelling() -> dict[str, str]:
    """Every key that can be written, aliases included, and the name it is known by here."""
    names = {key: key for key in SYNONYMS}
    for key in declared_keys():
        names[key.name] = key.name
        names.update(dict.fromkeys(key.aliases, key.name))
    return names


def _by_name(source: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """What one source says, aliases resolved; a source that says two things about one setting is refused."""
    found: dict[str, str] = {}
    spelling: dict[str, str] = {}
    for key, text in source.items():
        name = names.get(key)
        if name is None:
            continue
        if found.get(name, text).strip() != text.strip():
            raise ConfigurationError(
                f"{spelling[name]} and {key} are the same setting, but have different values"
            )
        found[name], spelling[name] = text, key
    return found


def _unknown(key: str, names: Mapping[str, str]) -> UnknownKey | None:
    if key in names:
        return None
    near = get_close_matches(key, names, n=1, cutoff=0.8)
    return UnknownKey(key, near[0] if near else None)

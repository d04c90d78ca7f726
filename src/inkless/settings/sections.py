"""All settings of a process in one value, and all keys in one list."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from inkless.settings.backends import BackendNames
from inkless.settings.control_plane import ControlPlaneSettings
from inkless.settings.fetch import FetchSettings
from inkless.settings.groups import GroupSettings
from inkless.settings.housekeeping import HousekeepingSettings
from inkless.settings.keys import Key, keys_of, setting
from inkless.settings.kinds import ConfigType
from inkless.settings.logs import LogSettings
from inkless.settings.produce import ProduceSettings
from inkless.settings.server import ServerSettings
from inkless.settings.storage import StorageSettings
from inkless.settings.topics import TopicDefaults


class Folder:
    """The path of a folder."""

    config_type = ConfigType.STRING
    unit = ""
    allowed = "the path of a folder"

    def parse(self, text: str) -> Path:
        if not text:
            raise ValueError(text)
        return Path(text).expanduser()

    def render(self, value: Path) -> str:
        return str(value)


@dataclass(frozen=True, slots=True)
class LocationSettings:
    """Where a broker without further configuration keeps what it stores."""

    data_dir: Path = setting(
        "inkless.data.dir",
        Path("inkless-data"),
        Folder(),
        "The folder of the embedded object store and control plane, where they have no URL of their own.",
    )


class Section(NamedTuple):
    """One dataclass of settings, by the field of `Settings` that holds it."""

    title: str
    declared_by: type[Any]


SECTIONS: dict[str, Section] = {
    "location": Section("Data directory", LocationSettings),
    "server": Section("Broker", ServerSettings),
    "produce": Section("Produce", ProduceSettings),
    "fetch": Section("Consume", FetchSettings),
    "storage": Section("Object storage", StorageSettings),
    "control_plane": Section("Control plane", ControlPlaneSettings),
    "backends": Section("Storage and control plane by class name", BackendNames),
    "groups": Section("Consumer groups", GroupSettings),
    "housekeeping": Section("Housekeeping", HousekeepingSettings),
    "log": Section("Log", LogSettings),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What one process was configured to do, with every default and every derived value filled in."""

    location: LocationSettings
    server: ServerSettings
    produce: ProduceSettings
    fetch: FetchSettings
    storage: StorageSettings
    control_plane: ControlPlaneSettings
    backends: BackendNames
    groups: GroupSettings
    housekeeping: HousekeepingSettings
    log: LogSettings
    topics: TopicDefaults
    given: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """What the user wrote, by the key's own name. Holds secrets."""

    @property
    def data_dir(self) -> Path:
        """The absolute path of the folder for what is kept locally."""
        return self.location.data_dir


def declared_keys() -> Iterator[Key]:
    """Every key of every section."""
    for section in SECTIONS.values():
        for bound in keys_of(section.declared_by):
            yield bound.key

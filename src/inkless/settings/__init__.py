"""Configuration as data: frozen dataclasses, one per package, validated before anything starts.

Every key is declared once, on the field that holds its value (`keys.setting`) or in the table of topic
configs (`topic_table`). Reading, validation, DescribeConfigs and docs/configuration.md all come from there.

`load_settings` is the only way in from the outside: defaults, then a properties file, then overrides. A
value that is not allowed raises `ConfigurationError` and the process does not start; a key nobody knows is
returned to the caller, who warns and goes on. Nothing here opens a connection or a data file, and nothing
changes after loading: the configs that can change while a broker runs are those of topics, which live in
the cluster metadata and become `TopicConfigs` on top of the `TopicDefaults` loaded here.
"""

from inkless.settings.addresses import HostPort, ListenerAddress
from inkless.settings.control_plane import ControlPlaneSettings
from inkless.settings.fetch import FetchSettings
from inkless.settings.groups import GroupSettings
from inkless.settings.housekeeping import HousekeepingSettings
from inkless.settings.load import LoadedSettings, UnknownKey, load_settings
from inkless.settings.logs import LogSettings
from inkless.settings.produce import ProduceSettings
from inkless.settings.sections import Settings
from inkless.settings.server import ServerSettings
from inkless.settings.storage import StorageSettings
from inkless.settings.topics import TopicConfigs, TopicDefaults, validate_topic_configs

__all__ = [
    "ControlPlaneSettings",
    "FetchSettings",
    "GroupSettings",
    "HostPort",
    "HousekeepingSettings",
    "ListenerAddress",
    "LoadedSettings",
    "LogSettings",
    "ProduceSettings",
    "ServerSettings",
    "Settings",
    "StorageSettings",
    "TopicConfigs",
    "TopicDefaults",
    "UnknownKey",
    "load_settings",
    "validate_topic_configs",
]

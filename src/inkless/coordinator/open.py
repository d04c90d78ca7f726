"""From the control plane's URL to a control plane."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from inkless.clock import Clock, Entropy
from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.sqlite.control_plane import SqliteControlPlane
from inkless.coordinator.sqlite.settings import SqliteSettings
from inkless.errors import ConfigurationError

_KEY = "inkless.control.plane.url"
_DEADLINE_MS = 10_000


async def open_control_plane(
    url: str, *, clock: Clock, entropy: Entropy, deadline_ms: int = _DEADLINE_MS
) -> ControlPlane:
    """Opens the control plane that the URL names; for SQLite the file is made when it is missing.

    A call that has no answer after `deadline_ms` raises Unavailable.
    """
    settings = SqliteSettings(sqlite_path(url), call_timeout_ms=deadline_ms, busy_timeout_ms=deadline_ms // 2)
    return await SqliteControlPlane.open(settings, clock=clock, entropy=entropy)


def sqlite_path(url: str) -> Path:
    """The absolute path of `sqlite:///path/to/file.db`."""
    parts = urlsplit(url)
    path = unquote(parts.path)
    if parts.scheme != "sqlite" or parts.netloc or parts.query or parts.fragment or len(path) < 2:
        raise ConfigurationError(f"{_KEY}: '{url}' cannot be used; allowed is sqlite:///path/to/file.db")
    return Path("/", path.lstrip("/"))

"""From the control plane's URL to a control plane."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from inkless.clock import Clock, Entropy
from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.sqlite.control_plane import SqliteControlPlane
from inkless.coordinator.sqlite.settings import SqliteSettings
from inkless.errors import ConfigurationError, Unavailable

_KEY = "inkless.control.plane.url"
_DEADLINE_MS = 10_000


async def open_control_plane(
    url: str,
    *,
    clock: Clock,
    entropy: Entropy,
    deadline_ms: int = _DEADLINE_MS,
    username: str | None = None,
    password: str | None = None,
) -> ControlPlane:
    """Opens the control plane that the URL names; for SQLite the file is made when it is missing.

    A call that has no answer after `deadline_ms` raises Unavailable. Name and password count where the
    database knows users and the URL has none.
    """
    if urlsplit(url).scheme in ("postgresql", "postgres"):
        return await _open_postgres(
            url,
            clock=clock,
            entropy=entropy,
            deadline_ms=deadline_ms,
            username=username,
            password=password,
        )
    settings = SqliteSettings(sqlite_path(url), call_timeout_ms=deadline_ms, busy_timeout_ms=deadline_ms // 2)
    return await SqliteControlPlane.open(settings, clock=clock, entropy=entropy)


async def _open_postgres(
    url: str, *, clock: Clock, entropy: Entropy, deadline_ms: int, username: str | None, password: str | None
) -> ControlPlane:
    try:
        from inkless.coordinator.postgres.control_plane import PostgresControlPlane
        from inkless.coordinator.postgres.settings import PostgresSettings
    except ModuleNotFoundError as error:
        if error.name != "asyncpg":
            raise
        raise ConfigurationError(
            f"{_KEY}: PostgreSQL needs a package that is not installed: pip install inkless[postgres]"
        ) from error
    settings = PostgresSettings(
        url,
        username=username,
        password=password,
        call_timeout_ms=deadline_ms,
        connect_timeout_ms=max(1, deadline_ms // 2),
    )
    try:
        return await PostgresControlPlane.open(settings, clock=clock, entropy=entropy)
    except Unavailable as error:
        # Without the user part, which may hold a password.
        where = urlsplit(url).netloc.rpartition("@")[2] + urlsplit(url).path
        raise Unavailable(
            f"{_KEY}: the database at {where} cannot be used: {error}; check the address and the credentials"
        ) from error


def sqlite_path(url: str) -> Path:
    """The absolute path of `sqlite:///path/to/file.db`."""
    parts = urlsplit(url)
    path = unquote(parts.path)
    if parts.scheme != "sqlite" or parts.netloc or parts.query or parts.fragment or len(path) < 2:
        raise ConfigurationError(
            f"{_KEY}: '{url}' cannot be used; allowed are sqlite:///path/to/file.db and "
            "postgresql://user@host:port/database"
        )
    return Path("/", path.lstrip("/"))

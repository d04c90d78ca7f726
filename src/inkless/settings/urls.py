"""URLs of local files, and what may stand before the `://`."""

from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from inkless.errors import ConfigurationError

STORAGE_SCHEMES = ("file", "s3", "gs", "az", "memory")
LOCAL_STORAGE_SCHEMES = ("file", "memory")
"""Stores that charge nothing for a request."""

CONTROL_PLANE_SCHEMES = ("sqlite", "postgresql", "inkless")


def local_url(scheme: str, path: Path) -> str:
    """`scheme:///absolute/path`, with what a URL cannot hold percent-encoded."""
    return f"{scheme}://{quote(str(path.absolute()))}"


def local_path(url: str) -> Path:
    """The path of a `file:///…` or `sqlite:///…` URL, three or four slashes alike; ConfigurationError where
    there is none."""
    try:
        split = urlsplit(url)
    except ValueError as error:
        raise ConfigurationError(f"{url} is not a URL") from error
    path = unquote(split.path).lstrip("/")
    if split.netloc not in {"", "localhost"} or not path:
        raise ConfigurationError(f"{url}: allowed is {split.scheme}:///absolute/path")
    return Path("/" + path)


def check_scheme(url: str, *, key: str, allowed: tuple[str, ...]) -> None:
    """ConfigurationError when a URL's scheme is none of the allowed ones."""
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in allowed:
        choices = ", ".join(f"{each}://" for each in allowed)
        # The URL of a database may hold a password, so that only its scheme is shown.
        raise ConfigurationError(
            f"{key}: a URL that begins with {scheme[:20]!r}; allowed is one of {choices}"
        )


def scheme_of(url: str) -> str:
    return url.partition("://")[0]

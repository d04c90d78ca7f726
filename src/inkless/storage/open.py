"""From settings to a store."""

from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from inkless.clock import Clock
from inkless.errors import ConfigurationError, InvariantViolated
from inkless.storage.contract import ObjectStore
from inkless.storage.folder import FolderStore
from inkless.storage.hedging import HedgedStore
from inkless.storage.keys import check_prefix
from inkless.storage.memory import MemoryStore
from inkless.storage.meter import MeteredStore, StoreMeter
from inkless.storage.settings import StorageSettings

_ALLOWED = "file:///folder, memory://, s3://bucket/prefix, gs://bucket/prefix or az://container/prefix"


def open_store(settings: StorageSettings, clock: Clock, meter: StoreMeter | None = None) -> ObjectStore:
    """The store that `settings.url` names, counting into `meter`.

    Touches a local folder, but asks nothing of a remote store yet.
    """
    try:
        url = urlsplit(settings.url)
    except ValueError as error:
        raise _bad_url(settings.url, str(error)) from error
    if url.query or url.fragment:
        raise _bad_url(settings.url, "a query or a fragment means nothing here")
    meter = meter or StoreMeter()
    match url.scheme:
        case "file":
            root = _folder(settings.url, url)
            folder = FolderStore(root, fsync=settings.fsync, threads_max=settings.threads_max)
            return MeteredStore(folder, clock, meter)
        case "memory" if not url.netloc and not url.path.strip("/"):
            return MeteredStore(MemoryStore(clock), clock, meter)
        case "s3" | "gs" | "az":
            remote = MeteredStore(_remote(settings, url), clock, meter)
            if settings.hedge_after_ms == 0:
                return remote
            # Outside the meter, so that both requests of a hedged read are counted: both are paid for.
            return HedgedStore(remote, clock, meter, hedge_after_ms=settings.hedge_after_ms)
        case _:
            raise _bad_url(settings.url, "this is none of them")


def _folder(text: str, url: SplitResult) -> Path:
    path = Path(unquote(url.path))
    if url.netloc not in {"", "localhost"} or not path.is_absolute() or path == Path("/"):
        raise _bad_url(text, "a folder needs three slashes and an absolute path")
    return path


def _remote(settings: StorageSettings, url: SplitResult) -> ObjectStore:
    # Imported only here: a broker on a local folder starts without the library.
    from inkless.storage.remote import RemoteStore
    from inkless.storage.remote_client import deadline_ms, open_client

    prefix = url.path.strip("/")
    if not url.netloc or not _is_prefix(prefix):
        raise _bad_url(settings.url, "a bucket and a plain prefix are needed")
    client = open_client(settings, url.scheme, bucket=url.netloc, prefix=prefix or None)
    return RemoteStore(client, deadline_ms=deadline_ms(settings))


def _is_prefix(text: str) -> bool:
    try:
        check_prefix(text)
    except InvariantViolated:
        return False
    return True


def _bad_url(text: str, why: str) -> ConfigurationError:
    return ConfigurationError(f"inkless.storage.url={text}: {why}; allowed: {_ALLOWED}")

"""obstore clients with every limit set: its own defaults (10 retries within 180 s) outlast any client."""

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store
from obstore.store import ObjectStore as Client

from inkless.errors import ConfigurationError
from inkless.storage.settings import StorageSettings

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config

_CONNECT_TIMEOUT_MS_MAX: Final = 3_000
_BACKOFF_FIRST: Final = timedelta(milliseconds=50)
_BACKOFF_MAX: Final = timedelta(seconds=2)


def open_client(settings: StorageSettings, scheme: str, *, bucket: str, prefix: str | None) -> Client:
    """A client of the bucket (or container) `bucket` whose keys all lie below `prefix`."""
    options = _client_options(settings)
    retry = _retry_config(settings)
    try:
        match scheme:
            case "s3":
                return S3Store(
                    bucket,
                    prefix=prefix,
                    config=_s3_config(settings),
                    client_options=options,
                    retry_config=retry,
                )
            case "gs":
                return GCSStore(bucket, prefix=prefix, client_options=options, retry_config=retry)
            case _:
                return AzureStore(bucket, prefix=prefix, client_options=options, retry_config=retry)
    except (BaseError, ValueError) as error:
        why = str(error).partition("\n")[0]
        raise ConfigurationError(f"inkless.storage.url={settings.url}: {why}") from error


def deadline_ms(settings: StorageSettings) -> int:
    """When a request is over even if the client says nothing: its last retry starts within the budget."""
    return settings.retry_budget_ms + 2 * settings.request_timeout_ms


def _client_options(settings: StorageSettings) -> "ClientConfig":
    timeout_ms = settings.request_timeout_ms
    return {
        "timeout": timedelta(milliseconds=timeout_ms),
        "connect_timeout": timedelta(milliseconds=min(timeout_ms, _CONNECT_TIMEOUT_MS_MAX)),
        "allow_http": settings.s3_allow_http,
    }


def _retry_config(settings: StorageSettings) -> "RetryConfig":
    return {
        "max_retries": settings.retries_max,
        "retry_timeout": timedelta(milliseconds=settings.retry_budget_ms),
        "backoff": {"init_backoff": _BACKOFF_FIRST, "max_backoff": _BACKOFF_MAX, "base": 2},
    }


def _s3_config(settings: StorageSettings) -> "S3Config":
    config: S3Config = {
        "virtual_hosted_style_request": not settings.s3_path_style,
        "unsigned_payload": settings.s3_unsigned_payload,
    }
    if settings.s3_endpoint is not None:
        config["endpoint"] = settings.s3_endpoint
    if settings.s3_region is not None:
        config["region"] = settings.s3_region
    if settings.s3_access_key is not None:
        config["access_key_id"] = settings.s3_access_key
    if settings.s3_secret_key is not None:
        config["secret_access_key"] = settings.s3_secret_key
    return config

"""The border of the vendor: what the driver and the network raise leaves as `Unavailable`, with its cause."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from inkless.errors import ConfigurationError, InvariantViolated, Unavailable

_CONFLICTS = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.InvalidCachedStatementError,
)


@contextmanager
def translated_errors() -> Iterator[None]:
    """A value that fits no column can only be our own bug: no field of the wire format is wider."""
    try:
        yield
    except asyncpg.ClientConfigurationError as error:
        raise ConfigurationError(f"inkless.control.plane.url: {error}") from error
    except asyncpg.DataError as error:
        raise InvariantViolated(f"PostgreSQL: {error}") from error
    except (
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
        asyncpg.InternalClientError,
        OSError,
    ) as error:
        raise Unavailable(f"PostgreSQL: {str(error) or type(error).__name__}") from error


def is_conflict(error: Unavailable) -> bool:
    """Whether the database gave the transaction up for another's sake: another try is worth it."""
    return isinstance(error.__cause__, _CONFLICTS)

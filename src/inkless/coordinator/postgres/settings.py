"""The limits of the PostgreSQL backend, as data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PostgresSettings:
    """`url` is a libpq URL; `username` and `password` count where it has none. `shard` is the one whose
    partitions this database owns."""

    url: str
    username: str | None = None
    password: str | None = None
    shard: int = 0
    call_timeout_ms: int = 10_000
    """How long a caller waits for its answer, the queue included. The database gives up at the same time."""
    connect_timeout_ms: int = 5_000
    idle_in_transaction_ms: int = 5_000
    """A process that stops in the middle of a transaction loses it after this time, and its locks with it, so
    that the others go on."""
    commit_connections_max: int = 2
    find_connections_max: int = 8
    metadata_connections_max: int = 4
    calls_waiting_max: int = 10_000
    """More waiting calls of one kind than this are refused at once."""
    group_calls_max: int = 256
    """How many waiting calls one transaction carries out together."""
    conflict_attempts_max: int = 4
    """How often a transaction that the database gave up for the sake of another is tried."""
    commit_answer_retention_ms: int = 3_600_000
    """How long a repeated commit gets its first answer; later ones learn only that it was carried out."""
    commit_repetition_max_ms: int = 86_400_000
    """A commit is known as a repetition for at least this long, even when its object has been deleted."""
    trim_runs_max: int = 1_000
    """How many runs one transaction forgets, so that commits do not wait long behind a deletion."""
    retention_runs_max: int = 10_000
    """How many runs one call looks at for retention."""
    listen_retry_ms: int = 1_000
    """Between attempts to listen again for the commits of others."""
    listen_check_ms: int = 10_000
    """How long the listening connection may be silent before it is asked whether it lives."""

"""The limits of the SQLite backend, as data."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SqliteSettings:
    """`shard` is the one whose partitions this database owns."""

    path: Path
    shard: int = 0
    busy_timeout_ms: int = 10_000
    """How long a transaction waits for another process before it gives up."""
    call_timeout_ms: int = 20_000
    """How long a caller waits for its answer, the queue included."""
    calls_waiting_max: int = 10_000
    """More waiting calls than this are refused at once."""
    group_calls_max: int = 256
    """How many waiting calls one transaction carries out together."""
    commit_answer_retention_ms: int = 3_600_000
    """How long a repeated commit gets its first answer; later ones learn only that it was carried out."""
    cached_entries_max: int = 200_000
    """Log tails and producer states that the writer keeps in memory."""
    trim_runs_max: int = 1_000
    """How many runs one transaction forgets, so that commits do not wait long behind a deletion."""
    retention_runs_max: int = 10_000
    """How many runs one call looks at for retention, so that other readers do not wait long behind it."""
    commit_repetition_max_ms: int = 86_400_000
    """A commit is known as a repetition for at least this long, even when its object has been deleted."""

"""What housekeeping has done, for the metrics."""

from dataclasses import dataclass


@dataclass(slots=True)
class HousekeepingCounters:
    """Counted by the broker that did it, since its start."""

    retention_rounds: int = 0
    log_starts_moved: int = 0
    deleted_objects: int = 0
    deleted_bytes: int = 0
    waiting_objects: int = 0
    """Objects found for deletion at the last look, one batch at most."""
    orphans_found: int = 0
    orphan_bytes_found: int = 0
    producers_expired: int = 0
    failed_steps: int = 0

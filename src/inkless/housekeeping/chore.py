"""What the housekeeper knows of a chore."""

from typing import Final, Protocol

PAUSE_S: Final = 0.05
"""Between steps while there is more to do, so that clients are served first."""


class Chore(Protocol):
    """Work that somebody in the cluster must do now and then."""

    name: str
    """The name of its lease in the database."""
    interval_s: float
    """How long there may be nothing to do."""

    async def step(self) -> float:
        """Does a bounded amount of work and gives the seconds until there should be another step, at most
        `interval_s`. May be called again after it has raised an InklessError."""
        ...

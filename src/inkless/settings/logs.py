"""Settings of the process's own log."""

from dataclasses import dataclass

from inkless.settings.keys import setting
from inkless.settings.kinds import Choice


@dataclass(frozen=True, slots=True)
class LogSettings:
    """What is logged, and in which form."""

    level: str = setting(
        "inkless.log.level",
        "INFO",
        Choice(("DEBUG", "INFO", "WARNING", "ERROR"), fold=True),
        "The least severe messages that are logged.",
    )
    format: str = setting(
        "inkless.log.format",
        "text",
        Choice(("text", "json"), fold=True),
        "Lines for people or one JSON object per line.",
    )

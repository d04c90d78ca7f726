"""What one group may take of its coordinator."""

from dataclasses import dataclass

from inkless.settings import GroupSettings

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLimits:
    """Sizes count what members say of themselves and what their leader assigns to them."""

    initial_rebalance_delay_ms: int = 100
    members_max: int = 10_000
    member_bytes_max: int = _MIB
    """Kafka keeps a whole group in one record of at most so many bytes."""
    group_bytes_max: int = 64 * _MIB
    newcomer_timeout_ms: int = 300_000
    """How long a member stays whose first join is parked: it sends no heartbeats yet, and if its client has
    gone away and joined anew, it is only in the way."""

    @classmethod
    def of(cls, settings: GroupSettings) -> "GroupLimits":
        return cls(
            initial_rebalance_delay_ms=settings.initial_rebalance_delay_ms, members_max=settings.members_max
        )

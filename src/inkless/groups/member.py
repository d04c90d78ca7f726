"""One member of a group."""

from dataclasses import dataclass

from inkless.groups.effects import JoinedMember, Ticket
from inkless.groups.events import ProtocolOffer


@dataclass(slots=True, eq=False, kw_only=True)
class Member:
    """A ticket stands for a parked request: while a member waits, it is not expected to send heartbeats."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[ProtocolOffer, ...]
    assignment: bytes = b""
    has_joined_before: bool = False
    join_ticket: Ticket | None = None
    sync_ticket: Ticket | None = None

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    @property
    def awaits_join(self) -> bool:
        return self.join_ticket is not None

    @property
    def byte_count(self) -> int:
        return len(self.assignment) + sum(len(name) + len(metadata) for name, metadata in self.protocols)

    def metadata(self, protocol_name: str) -> bytes:
        """What it offers for a protocol; empty for one that it does not know."""
        return next((offer.metadata for offer in self.protocols if offer.name == protocol_name), b"")

    def seen_by_leader(self, protocol_name: str) -> JoinedMember:
        return JoinedMember(self.member_id, self.instance_id, self.metadata(protocol_name))

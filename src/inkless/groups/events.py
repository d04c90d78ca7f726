"""What members ask of their group."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

NO_GENERATION = -1
NO_MEMBER_ID = ""


class MemberIdentity(NamedTuple):
    """Who asks. `instance_id` is given by static members (KIP-345), whose member ids come and go."""

    member_id: str
    instance_id: str | None = None


class ProtocolOffer(NamedTuple):
    """A way of assigning that a member can take part in; the metadata is for the leader alone."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRequest:
    """A member that wants to be in the next generation.

    `fresh_member_id` is the id it gets if it has none. `needs_known_id` is true for clients that come back
    with the id they were given (KIP-394), `can_skip_assignment` for leaders that understand to leave the
    assignment as it is (KIP-814).
    """

    member: MemberIdentity
    fresh_member_id: str
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[ProtocolOffer, ...]
    needs_known_id: bool = False
    can_skip_assignment: bool = False

    @property
    def byte_count(self) -> int:
        return sum(len(offer.name) + len(offer.metadata) for offer in self.protocols)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """A member that wants its assignment; the leader brings everybody's.

    `protocol_type` and `protocol_name` are None for clients that do not say what they believe to be agreed.
    """

    member: MemberIdentity
    generation: int
    assignments: Mapping[str, bytes]
    protocol_type: str | None = None
    protocol_name: str | None = None

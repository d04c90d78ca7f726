"""What a group wants done: answers to parked requests, and a generation to be kept."""

from dataclasses import dataclass
from typing import NamedTuple, NewType

from inkless.groups.events import NO_GENERATION, NO_MEMBER_ID
from inkless.protocol.error_codes import ErrorCode

Ticket = NewType("Ticket", int)
"""Names a request that waits; chosen by whoever hands the request in, used for one answer."""


class JoinedMember(NamedTuple):
    """A member as the leader sees it."""

    member_id: str
    instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinAnswer:
    """The generation that was joined; only the leader is told who else is in it."""

    error: ErrorCode
    member_id: str = NO_MEMBER_ID
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str = NO_MEMBER_ID
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False


@dataclass(frozen=True, slots=True)
class SyncAnswer:
    """A member's assignment, in the words of its leader."""

    error: ErrorCode
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


class Answered(NamedTuple):
    """The request with this ticket has its answer."""

    ticket: Ticket
    answer: JoinAnswer | SyncAnswer


class GenerationBegun(NamedTuple):
    """Worth keeping, so that the generations of a group go on counting under its next coordinator."""

    generation: int
    protocol_type: str


Effect = Answered | GenerationBegun

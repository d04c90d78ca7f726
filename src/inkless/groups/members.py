"""The members of a group: who they are, who leads, and which protocols all of them know."""

from collections import Counter
from collections.abc import Iterator

from inkless.groups.effects import Ticket
from inkless.groups.events import MemberIdentity, ProtocolOffer
from inkless.groups.member import Member
from inkless.protocol.error_codes import ErrorCode


class Members:
    """In the order in which they came. There is a leader as soon as there are members, one of them."""

    def __init__(self) -> None:
        self._by_id: dict[str, Member] = {}
        self._id_by_instance: dict[str, str] = {}
        self._supporters: Counter[str] = Counter()
        self._leader_id: str | None = None
        self._awaiting_join = 0
        self._byte_count = 0

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Member]:
        """A copy, so that members may go while it is walked through."""
        return iter(list(self._by_id.values()))

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._by_id

    def __getitem__(self, member_id: str) -> Member:
        return self._by_id[member_id]

    @property
    def awaiting_join(self) -> int:
        """How many of them have a parked join."""
        return self._awaiting_join

    @property
    def byte_count(self) -> int:
        """What they say of themselves and what is assigned to them."""
        return self._byte_count

    @property
    def leader_id(self) -> str | None:
        return self._leader_id

    def is_leader(self, member: Member) -> bool:
        return member.member_id == self._leader_id

    def of_instance(self, instance_id: str) -> Member | None:
        member_id = self._id_by_instance.get(instance_id)
        return None if member_id is None else self._by_id[member_id]

    def refusal(self, identity: MemberIdentity) -> ErrorCode:
        """NONE for a member. A static one whose place was taken by its successor is fenced."""
        if identity.instance_id is not None:
            current_id = self._id_by_instance.get(identity.instance_id)
            if current_id is not None and current_id != identity.member_id:
                return ErrorCode.FENCED_INSTANCE_ID
            return ErrorCode.UNKNOWN_MEMBER_ID if current_id is None else ErrorCode.NONE
        return ErrorCode.NONE if identity.member_id in self._by_id else ErrorCode.UNKNOWN_MEMBER_ID

    def add(self, member: Member) -> None:
        self._by_id[member.member_id] = member
        self._byte_count += member.byte_count
        if member.instance_id is not None:
            self._id_by_instance[member.instance_id] = member.member_id
        self._supporters.update(_names(member.protocols))
        if self._leader_id is None:
            self._leader_id = member.member_id

    def remove(self, member: Member) -> None:
        """A member whose requests are no longer parked."""
        del self._by_id[member.member_id]
        self._byte_count -= member.byte_count
        if member.instance_id is not None:
            del self._id_by_instance[member.instance_id]
        self._withdraw(member.protocols)
        if self.is_leader(member):
            self._leader_id = next(iter(self._by_id), None)

    def rename(self, member: Member, member_id: str) -> None:
        """Gives a static member a new id in its old place."""
        renamed = {(member_id if each is member else each.member_id): each for each in self}
        if self.is_leader(member):
            self._leader_id = member_id
        if member.instance_id is not None:
            self._id_by_instance[member.instance_id] = member_id
        member.member_id = member_id
        self._by_id = renamed

    def change_protocols(self, member: Member, protocols: tuple[ProtocolOffer, ...]) -> None:
        self._withdraw(member.protocols)
        self._byte_count -= member.byte_count
        member.protocols = protocols
        self._byte_count += member.byte_count
        self._supporters.update(_names(protocols))

    def assign(self, member: Member, assignment: bytes) -> None:
        self._byte_count += len(assignment) - len(member.assignment)
        member.assignment = assignment

    def park_join(self, member: Member, ticket: Ticket) -> None:
        member.join_ticket = ticket
        self._awaiting_join += 1

    def take_join(self, member: Member) -> Ticket | None:
        """The ticket of its parked join, which is parked no more."""
        ticket, member.join_ticket = member.join_ticket, None
        if ticket is not None:
            self._awaiting_join -= 1
        return ticket

    def elect_among_joined(self) -> bool:
        """Keeps a leader that has joined again, else takes the first that has; false when none has."""
        leader = None if self._leader_id is None else self._by_id[self._leader_id]
        if leader is None or not leader.awaits_join:
            leader = next((member for member in self if member.awaits_join), None)
        if leader is None:
            return False
        self._leader_id = leader.member_id
        return True

    def share_a_protocol_with(self, protocols: tuple[ProtocolOffer, ...]) -> bool:
        return any(self._supporters[name] == len(self) for name in _names(protocols))

    def select_protocol(self) -> str | None:
        """The one that most members name first among those that all know; None without members."""
        votes: Counter[str] = Counter()
        for member in self:
            shared = (offer.name for offer in member.protocols if self._supporters[offer.name] == len(self))
            votes.update([next(shared)])
        return votes.most_common(1)[0][0] if votes else None

    def rebalance_timeout_ms(self) -> int:
        """The slowest member decides."""
        return max((member.rebalance_timeout_ms for member in self), default=0)

    def _withdraw(self, protocols: tuple[ProtocolOffer, ...]) -> None:
        self._supporters.subtract(_names(protocols))
        self._supporters += Counter()


def _names(protocols: tuple[ProtocolOffer, ...]) -> set[str]:
    """A name that is offered twice counts once."""
    return {offer.name for offer in protocols}

"""Drives the state machine of a group by hand: time passes when told to, answers are kept by ticket."""

import itertools
from collections.abc import Mapping, Sequence

from inkless.groups.effects import Answered, GenerationBegun, JoinAnswer, SyncAnswer, Ticket
from inkless.groups.events import JoinRequest, MemberIdentity, ProtocolOffer, SyncRequest
from inkless.groups.group import Group
from inkless.groups.limits import GroupLimits
from inkless.protocol.error_codes import ErrorCode

DELAY_MS = 100
SESSION_MS = 10_000
REBALANCE_MS = 60_000


def offers(*names: str, metadata: bytes = b"topics") -> tuple[ProtocolOffer, ...]:
    return tuple(ProtocolOffer(name, metadata) for name in names)


class GroupDriver:
    """A group with everything that came out of it.

    Members are known by the ids that they are given here; a newcomer joins without a round for its id,
    unless `needs_known_id` says so.
    """

    def __init__(self, limits: GroupLimits | None = None, *, generation: int = 0) -> None:
        self.group = Group(limits or GroupLimits(initial_rebalance_delay_ms=DELAY_MS), generation=generation)
        self.now_ms = 1_000_000
        self.answers: dict[Ticket, JoinAnswer | SyncAnswer] = {}
        self.generations: list[GenerationBegun] = []
        self._tickets = itertools.count(1)

    def newcomer(
        self,
        fresh_member_id: str,
        *,
        instance_id: str | None = None,
        protocols: tuple[ProtocolOffer, ...] = offers("range"),
        needs_known_id: bool = False,
        **changes: object,
    ) -> Ticket:
        return self._join(
            MemberIdentity("", instance_id),
            fresh_member_id,
            protocols,
            needs_known_id=needs_known_id,
            **changes,
        )

    def join(
        self,
        member_id: str,
        *,
        instance_id: str | None = None,
        protocols: tuple[ProtocolOffer, ...] = offers("range"),
        **changes: object,
    ) -> Ticket:
        return self._join(MemberIdentity(member_id, instance_id), "not used", protocols, **changes)

    def sync(
        self,
        member_id: str,
        assignments: Mapping[str, bytes] | None = None,
        *,
        instance_id: str | None = None,
        generation: int | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> Ticket:
        ticket = Ticket(next(self._tickets))
        request = SyncRequest(
            member=MemberIdentity(member_id, instance_id),
            generation=self.group.generation if generation is None else generation,
            assignments=assignments or {},
            protocol_type=protocol_type,
            protocol_name=protocol_name,
        )
        self.group.sync(request, ticket=ticket, now_ms=self.now_ms)
        self._collect()
        return ticket

    def heartbeat(
        self, member_id: str, *, instance_id: str | None = None, generation: int | None = None
    ) -> ErrorCode:
        wanted = self.group.generation if generation is None else generation
        return self.group.heartbeat(MemberIdentity(member_id, instance_id), wanted, now_ms=self.now_ms)

    def check_commit(
        self, member_id: str, *, instance_id: str | None = None, generation: int | None = None
    ) -> ErrorCode:
        wanted = self.group.generation if generation is None else generation
        return self.group.check_commit(MemberIdentity(member_id, instance_id), wanted, now_ms=self.now_ms)

    def leave(self, *identities: MemberIdentity) -> list[ErrorCode]:
        codes = self.group.leave(identities, now_ms=self.now_ms)
        self._collect()
        return codes

    def pass_time(self, duration_ms: int) -> None:
        """As a clock does it: whatever becomes due on the way happens at its time."""
        end_ms = self.now_ms + duration_ms
        while (wake_at_ms := self.group.wake_at()) is not None and wake_at_ms <= end_ms:
            self.now_ms = max(self.now_ms, wake_at_ms)
            self.group.expire(now_ms=self.now_ms)
            self._collect()
        self.now_ms = end_ms

    def joined(self, ticket: Ticket) -> JoinAnswer:
        answer = self.answers[ticket]
        assert isinstance(answer, JoinAnswer)
        return answer

    def synced(self, ticket: Ticket) -> SyncAnswer:
        answer = self.answers[ticket]
        assert isinstance(answer, SyncAnswer)
        return answer

    def code(self, ticket: Ticket) -> ErrorCode:
        return self.answers[ticket].error

    def is_parked(self, ticket: Ticket) -> bool:
        return ticket not in self.answers

    def form(self, *member_ids: str, instances: Sequence[str] = ()) -> None:
        """A stable first generation, led by the first; `instances` are those of the first members."""
        for member_id, instance_id in itertools.zip_longest(member_ids, instances):
            self.newcomer(member_id, instance_id=instance_id)
        self.pass_time(DELAY_MS * 2)
        self.complete(*member_ids)

    def complete(self, *member_ids: str) -> None:
        """Everybody asks for its assignment, and the leader, who is the first, brings them."""
        leader_id, *others = member_ids
        assert self.group.leader_id == leader_id
        instances = {member.member_id: member.instance_id for member in self.group.members}
        for member_id in others:
            self.sync(member_id, instance_id=instances[member_id])
        assignments = {member_id: f"for {member_id}".encode() for member_id in member_ids}
        self.sync(leader_id, assignments, instance_id=instances[leader_id])

    def _join(
        self,
        member: MemberIdentity,
        fresh_member_id: str,
        protocols: tuple[ProtocolOffer, ...],
        **changes: object,
    ) -> Ticket:
        ticket = Ticket(next(self._tickets))
        fields: dict[str, object] = {
            "client_id": "client",
            "client_host": "/127.0.0.1",
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": REBALANCE_MS,
            "protocol_type": "consumer",
            **changes,
        }
        request = JoinRequest(
            member=member,
            fresh_member_id=fresh_member_id,
            protocols=protocols,
            **fields,  # type: ignore[arg-type]  # tests name only the fields that matter to them
        )
        self.group.join(request, ticket=ticket, now_ms=self.now_ms)
        self._collect()
        return ticket

    def _collect(self) -> None:
        for effect in self.group.take_effects():
            if isinstance(effect, Answered):
                assert effect.ticket not in self.answers, "a request was answered twice"
                self.answers[effect.ticket] = effect.answer
            else:
                self.generations.append(effect)

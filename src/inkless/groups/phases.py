"""From one generation to the next: the phases of a rebalance, without a word about who may ask for what.

    EMPTY ──► PREPARING ──► COMPLETING ──► STABLE
      ▲           │ ▲            │            │
      └───────────┘ └────────────┴────────────┘

PREPARING collects joins, COMPLETING waits for the leader's assignments, STABLE has given them out. Time is
handed in; what is to be done is collected as effects.
"""

from enum import Enum

from inkless.groups.deadlines import Deadline, Deadlines, Wait
from inkless.groups.effects import Answered, Effect, GenerationBegun, JoinAnswer, SyncAnswer, Ticket
from inkless.groups.limits import GroupLimits
from inkless.groups.member import Member
from inkless.groups.members import Members
from inkless.protocol.error_codes import ErrorCode

_JOINS = Deadline(Wait.JOINS)
_SYNCS = Deadline(Wait.SYNCS)


class Phase(Enum):
    """The values are the names that clients know."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


class Phases:
    """The generation of a group and the way to the next one.

    Invariants: the generation only grows; outside EMPTY and PREPARING the leader is a member and one protocol
    is agreed; a member of a stable generation has an assignment, if only an empty one.
    """

    def __init__(self, limits: GroupLimits, *, generation: int, protocol_type: str) -> None:
        self.phase = Phase.EMPTY
        self.generation = generation
        self.protocol_type = protocol_type
        self.protocol_name: str | None = None
        self.members = Members()
        self.deadlines = Deadlines()
        self.awaited_returns: set[str] = set()
        """Member ids that were given out and have not joined yet."""
        self._awaited_syncs: set[str] = set()
        self._limits = limits
        self._effects: list[Effect] = []
        self._is_first_rebalance = False
        self._newcomers_during_delay = False
        self._delay_left_ms = 0

    def take_effects(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        return effects

    def answer(self, ticket: Ticket | None, answer: JoinAnswer | SyncAnswer) -> None:
        if ticket is not None:
            self._effects.append(Answered(ticket, answer))

    # Members come, wait and go

    def add(self, member: Member, ticket: Ticket, *, now_ms: int) -> None:
        """A new member, its first join parked."""
        self.members.add(member)
        self.members.park_join(member, ticket)
        self._newcomers_during_delay = self._newcomers_during_delay or self._is_first_rebalance
        timeout_ms = self._limits.newcomer_timeout_ms
        self.deadlines.set(Deadline(Wait.HEARTBEAT, member.member_id), now_ms + timeout_ms)

    def park_join(self, member: Member, ticket: Ticket) -> None:
        """A member joins again; what it asked before is overtaken."""
        self.release(member, ErrorCode.REBALANCE_IN_PROGRESS)
        self.members.park_join(member, ticket)
        if member.has_joined_before:
            self.deadlines.clear(Deadline(Wait.HEARTBEAT, member.member_id))

    def park_sync(self, member: Member, ticket: Ticket) -> None:
        self.release(member, ErrorCode.REBALANCE_IN_PROGRESS)
        member.sync_ticket = ticket
        self.deadlines.clear(Deadline(Wait.HEARTBEAT, member.member_id))

    def release(self, member: Member, code: ErrorCode) -> None:
        """Answers what the member has parked with an error."""
        self.answer(self.members.take_join(member), JoinAnswer(code, member.member_id))
        self.answer(member.sync_ticket, SyncAnswer(code))
        member.sync_ticket = None

    def touch(self, member: Member, *, now_ms: int) -> None:
        """A sign of life."""
        deadline = Deadline(Wait.HEARTBEAT, member.member_id)
        self.deadlines.set(deadline, now_ms + member.session_timeout_ms)

    def remove(self, member: Member) -> None:
        self.release(member, ErrorCode.UNKNOWN_MEMBER_ID)
        self.members.remove(member)
        self.deadlines.clear(Deadline(Wait.HEARTBEAT, member.member_id))
        self._awaited_syncs.discard(member.member_id)

    def rename(self, member: Member, member_id: str) -> None:
        """A static member has come back under a new id; its predecessor is told so, if it still waits."""
        self.release(member, ErrorCode.FENCED_INSTANCE_ID)
        self.deadlines.clear(Deadline(Wait.HEARTBEAT, member.member_id))
        if member.member_id in self._awaited_syncs:
            self._awaited_syncs.remove(member.member_id)
            self._awaited_syncs.add(member_id)
        self.members.rename(member, member_id)

    # Towards the next generation

    def rebalance(self, *, now_ms: int) -> None:
        """Begins one, or, when one is under way, ends its first phase if everybody is there."""
        if self.phase is not Phase.PREPARING:
            self._prepare(now_ms)
        self.complete_join_if_all_joined(now_ms=now_ms)

    def complete_join_if_all_joined(self, *, now_ms: int) -> None:
        all_joined = self.members.awaiting_join == len(self.members) and not self.awaited_returns
        if self.phase is Phase.PREPARING and all_joined and not self._is_first_rebalance:
            self._complete_join(now_ms)

    def joins_are_due(self, *, now_ms: int) -> None:
        """The time for joining is over. An empty group's first rebalance is put off for as long as members
        keep coming, so that a fleet that starts together does not rebalance once for each of them."""
        if self._is_first_rebalance and self._newcomers_during_delay and self._delay_left_ms > 0:
            self._newcomers_during_delay = False
            self._delay_first_rebalance(now_ms, budget_ms=self._delay_left_ms)
        else:
            self._complete_join(now_ms)

    def syncs_are_due(self, *, now_ms: int) -> None:
        """Who has not asked for its assignment by now is gone."""
        late = [self.members[member_id] for member_id in self._awaited_syncs]
        for member in late:
            self.remove(member)
        if late:
            self.rebalance(now_ms=now_ms)

    def synced(self, member: Member) -> None:
        self._awaited_syncs.discard(member.member_id)
        if not self._awaited_syncs:
            self.deadlines.clear(_SYNCS)

    def assign(self, assignments: dict[str, bytes], *, now_ms: int) -> None:
        """The leader has spoken; a member that it forgot has nothing to do."""
        self.phase = Phase.STABLE
        for member in self.members:
            self.members.assign(member, assignments.get(member.member_id, b""))
            if member.sync_ticket is not None:
                self.answer(member.sync_ticket, self.assignment_of(member))
                member.sync_ticket = None
                self.touch(member, now_ms=now_ms)

    def assignment_of(self, member: Member) -> SyncAnswer:
        return SyncAnswer(ErrorCode.NONE, self.protocol_type, self.protocol_name, member.assignment)

    def generation_of(self, member: Member, *, leader_id: str | None = None) -> JoinAnswer:
        """What a member of this generation is told of it; `leader_id` tells it of another leader."""
        name = self.protocol_name or ""
        is_leader = leader_id is None and self.members.is_leader(member)
        return JoinAnswer(
            ErrorCode.NONE,
            member.member_id,
            self.generation,
            self.protocol_type,
            name,
            leader_id or self.members.leader_id or "",
            tuple(each.seen_by_leader(name) for each in self.members) if is_leader else (),
        )

    def _prepare(self, now_ms: int) -> None:
        if self.phase is Phase.COMPLETING:
            for member in self.members:
                if member.sync_ticket is not None:
                    self.answer(member.sync_ticket, SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS))
                    member.sync_ticket = None
                    self.touch(member, now_ms=now_ms)
        self._awaited_syncs.clear()
        self.deadlines.clear(_SYNCS)
        self._is_first_rebalance = self.phase is Phase.EMPTY
        self.phase = Phase.PREPARING
        if self._is_first_rebalance:
            self._newcomers_during_delay = False
            self._delay_first_rebalance(now_ms, budget_ms=self.members.rebalance_timeout_ms())
        else:
            self.deadlines.set(_JOINS, now_ms + self.members.rebalance_timeout_ms())

    def _delay_first_rebalance(self, now_ms: int, *, budget_ms: int) -> None:
        delay_ms = min(self._limits.initial_rebalance_delay_ms, budget_ms)
        self._delay_left_ms = budget_ms - delay_ms
        self.deadlines.set(_JOINS, now_ms + delay_ms)

    def _complete_join(self, now_ms: int) -> None:
        for member in self.members:
            # A static member may come back within its session time-out without anybody noticing.
            if not member.awaits_join and not member.is_static:
                self.remove(member)
        if self.members and not self.members.elect_among_joined():
            self.deadlines.set(_JOINS, now_ms + self.members.rebalance_timeout_ms())
            return
        self.deadlines.clear(_JOINS)
        self._is_first_rebalance = False
        self.generation += 1
        self.protocol_name = self.members.select_protocol()
        self.phase = Phase.COMPLETING if self.members else Phase.EMPTY
        self._effects.append(GenerationBegun(self.generation, self.protocol_type))
        for member in self.members:
            self.members.assign(member, b"")
            if member.awaits_join:
                self._welcome(member, now_ms)
        if self.members:
            self.deadlines.set(_SYNCS, now_ms + self.members.rebalance_timeout_ms())

    def _welcome(self, member: Member, now_ms: int) -> None:
        answer = self.generation_of(member)
        self.answer(self.members.take_join(member), answer)
        member.has_joined_before = True
        self._awaited_syncs.add(member.member_id)
        self.touch(member, now_ms=now_ms)

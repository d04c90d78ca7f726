"""One group as a state machine: events come in, effects go out, nothing waits and nobody looks at a clock.

Who may do what, in which phase, with which error otherwise, is decided here and follows Kafka's classic
group protocol. What becomes of the group is the matter of `phases`.
"""

from collections.abc import Sequence
from dataclasses import replace

from inkless.groups.deadlines import Deadline, Wait
from inkless.groups.effects import Effect, JoinAnswer, SyncAnswer, Ticket
from inkless.groups.events import NO_GENERATION, NO_MEMBER_ID, JoinRequest, MemberIdentity, SyncRequest
from inkless.groups.limits import GroupLimits
from inkless.groups.member import Member
from inkless.groups.phases import Phase, Phases
from inkless.protocol.error_codes import ErrorCode


class Group:
    """Every method is one event at the time `now_ms`, which never goes back.

    Whatever is to be done afterwards is given by `take_effects`, in order; each ticket is answered once.
    """

    def __init__(self, limits: GroupLimits, *, generation: int = 0, protocol_type: str = "") -> None:
        self._limits = limits
        self._phases = Phases(limits, generation=generation, protocol_type=protocol_type)
        self._members = self._phases.members

    @property
    def phase(self) -> Phase:
        return self._phases.phase

    @property
    def generation(self) -> int:
        return self._phases.generation

    @property
    def protocol_type(self) -> str:
        """Empty for a group that nobody has ever joined."""
        return self._phases.protocol_type

    @property
    def protocol_name(self) -> str | None:
        return self._phases.protocol_name

    @property
    def leader_id(self) -> str | None:
        return self._members.leader_id

    @property
    def members(self) -> Sequence[Member]:
        return tuple(self._members)

    @property
    def is_idle(self) -> bool:
        """Nobody is in it or about to be."""
        return self.phase is Phase.EMPTY and not self._phases.awaited_returns

    def take_effects(self) -> list[Effect]:
        return self._phases.take_effects()

    def wake_at(self) -> int | None:
        """When `expire` is to be called, at the latest."""
        return self._phases.deadlines.wake_at()

    def join(self, request: JoinRequest, *, ticket: Ticket, now_ms: int) -> None:
        """Parked until the next generation begins, unless there is nothing to wait for."""
        code = self._join_refusal(request, now_ms)
        member_id, instance_id = request.member
        if code is not ErrorCode.NONE:
            self._phases.answer(ticket, JoinAnswer(code, member_id))
        elif member_id == NO_MEMBER_ID:
            predecessor = None if instance_id is None else self._members.of_instance(instance_id)
            if predecessor is not None:
                self._replace(predecessor, request, ticket, now_ms)
            elif instance_id is None and request.needs_known_id:
                self._send_away_with_id(request, ticket, now_ms)
            else:
                self._admit(request.fresh_member_id, request, ticket, now_ms)
        elif member_id in self._phases.awaited_returns:
            self._admit(member_id, request, ticket, now_ms)
        else:
            self._rejoin(self._members[member_id], request, ticket, now_ms)

    def sync(self, request: SyncRequest, *, ticket: Ticket, now_ms: int) -> None:
        """Parked until the leader has sent the assignments."""
        code = self._sync_refusal(request)
        if code is not ErrorCode.NONE:
            self._phases.answer(ticket, SyncAnswer(code))
            return
        member = self._members[request.member.member_id]
        self._phases.synced(member)
        if self.phase is Phase.STABLE:
            self._phases.answer(ticket, self._phases.assignment_of(member))
            self._phases.touch(member, now_ms=now_ms)
            return
        self._phases.park_sync(member, ticket)
        if self._members.is_leader(member):
            self._phases.assign(dict(request.assignments), now_ms=now_ms)

    def heartbeat(self, identity: MemberIdentity, generation: int, *, now_ms: int) -> ErrorCode:
        code = self._members.refusal(identity)
        if code is not ErrorCode.NONE:
            return code
        if generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        self._touch_unless_waiting(self._members[identity.member_id], now_ms)
        return ErrorCode.REBALANCE_IN_PROGRESS if self.phase is Phase.PREPARING else ErrorCode.NONE

    def leave(self, identities: Sequence[MemberIdentity], *, now_ms: int) -> list[ErrorCode]:
        """One code for each; all leave in one rebalance."""
        count_before = len(self._members)
        codes = [self._leave(identity) for identity in identities]
        if len(self._members) < count_before:
            self._phases.rebalance(now_ms=now_ms)
        self._phases.complete_join_if_all_joined(now_ms=now_ms)
        return codes

    def check_commit(self, identity: MemberIdentity, generation: int, *, now_ms: int) -> ErrorCode:
        """Whether offsets may be committed: by members of this generation once it is complete, and by anybody
        who claims to be no member while there are none."""
        is_anonymous = identity == MemberIdentity(NO_MEMBER_ID) and generation <= NO_GENERATION
        if self.phase is Phase.EMPTY and generation <= NO_GENERATION:
            return ErrorCode.NONE
        if is_anonymous:
            return ErrorCode.UNKNOWN_MEMBER_ID
        code = self._members.refusal(identity)
        if code is not ErrorCode.NONE:
            return code
        if generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if self.phase is Phase.COMPLETING:
            return ErrorCode.REBALANCE_IN_PROGRESS
        self._touch_unless_waiting(self._members[identity.member_id], now_ms)
        return ErrorCode.NONE

    def expire(self, *, now_ms: int) -> None:
        """Whatever was waited for and has not come by now will not come."""
        for wait, member_id in self._phases.deadlines.due(now_ms):
            if wait is Wait.HEARTBEAT:
                self._phases.remove(self._members[member_id])
                self._phases.rebalance(now_ms=now_ms)
            elif wait is Wait.RETURN:
                self._phases.awaited_returns.discard(member_id)
                self._phases.complete_join_if_all_joined(now_ms=now_ms)
            elif wait is Wait.JOINS:
                self._phases.joins_are_due(now_ms=now_ms)
            else:
                self._phases.syncs_are_due(now_ms=now_ms)

    def give_up(self, code: ErrorCode) -> None:
        """This is no longer the group's coordinator: everything that is parked is answered with the code."""
        for member in self._members:
            self._phases.release(member, code)

    def _join_refusal(self, request: JoinRequest, now_ms: int) -> ErrorCode:
        identity = request.member
        has_returned = identity.member_id in self._phases.awaited_returns and identity.instance_id is None
        is_newcomer = has_returned or identity.member_id == NO_MEMBER_ID
        if not is_newcomer and (code := self._members.refusal(identity)) is not ErrorCode.NONE:
            return code
        if request.byte_count > self._limits.member_bytes_max:
            return ErrorCode.INVALID_REQUEST
        if not self._has_room_for(request):
            if not is_newcomer:
                self._phases.remove(self._members[identity.member_id])
                self._phases.rebalance(now_ms=now_ms)
            return ErrorCode.GROUP_MAX_SIZE_REACHED
        if not self._agrees_with(request):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.NONE

    def _has_room_for(self, request: JoinRequest) -> bool:
        """While joins are collected only they count: of those who are away nobody knows whether they live."""
        if self._members.byte_count + request.byte_count > self._limits.group_bytes_max:
            return False
        member_id, instance_id = request.member
        if instance_id is not None and self._members.of_instance(instance_id) is not None:
            return True
        if member_id == NO_MEMBER_ID and len(self._phases.awaited_returns) >= self._limits.members_max:
            return False
        known = member_id in self._members
        if self.phase is Phase.PREPARING:
            awaits_join = known and self._members[member_id].awaits_join
            return awaits_join or self._members.awaiting_join < self._limits.members_max
        return known or len(self._members) < self._limits.members_max

    def _agrees_with(self, request: JoinRequest) -> bool:
        if not request.protocol_type or not request.protocols:
            return False
        if not len(self._members):
            return True
        return request.protocol_type == self.protocol_type and self._members.share_a_protocol_with(
            request.protocols
        )

    def _send_away_with_id(self, request: JoinRequest, ticket: Ticket, now_ms: int) -> None:
        """A client that never comes back has cost no member; one that does can be told from itself."""
        member_id = request.fresh_member_id
        self._phases.awaited_returns.add(member_id)
        self._phases.deadlines.set(Deadline(Wait.RETURN, member_id), now_ms + request.session_timeout_ms)
        self._phases.answer(ticket, JoinAnswer(ErrorCode.MEMBER_ID_REQUIRED, member_id))

    def _admit(self, member_id: str, request: JoinRequest, ticket: Ticket, now_ms: int) -> None:
        self._phases.awaited_returns.discard(member_id)
        self._phases.deadlines.clear(Deadline(Wait.RETURN, member_id))
        if not len(self._members):
            self._phases.protocol_type = request.protocol_type
        member = Member(
            member_id=member_id,
            instance_id=request.member.instance_id,
            client_id=request.client_id,
            client_host=request.client_host,
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            protocols=request.protocols,
        )
        self._phases.add(member, ticket, now_ms=now_ms)
        self._phases.rebalance(now_ms=now_ms)

    def _rejoin(self, member: Member, request: JoinRequest, ticket: Ticket, now_ms: int) -> None:
        """A member that says nothing new is told of the generation it is in: its answer may have been lost.
        The leader of a stable generation always has something new to say: it saw that topics have changed."""
        is_same = member.protocols == request.protocols
        stays = {
            Phase.COMPLETING: is_same,
            Phase.STABLE: is_same and not self._members.is_leader(member),
        }
        if stays.get(self.phase, False):
            self._phases.answer(ticket, self._phases.generation_of(member))
            self._touch_unless_waiting(member, now_ms)
            return
        self._update(member, request)
        self._phases.park_join(member, ticket)
        self._phases.rebalance(now_ms=now_ms)

    def _replace(self, predecessor: Member, request: JoinRequest, ticket: Ticket, now_ms: int) -> None:
        """A static member has come back after a restart: it takes its own place, and if the group's protocol
        stays, its own assignment, without a rebalance."""
        leader_id = self._members.leader_id
        self._phases.rename(predecessor, request.fresh_member_id)
        self._update(predecessor, request)
        if self.phase is not Phase.STABLE or self._members.select_protocol() != self.protocol_name:
            self._phases.park_join(predecessor, ticket)
            self._phases.rebalance(now_ms=now_ms)
            return
        self._phases.touch(predecessor, now_ms=now_ms)
        self._phases.answer(ticket, self._unchanged_generation(predecessor, request, leader_id))

    def _unchanged_generation(
        self, member: Member, request: JoinRequest, leader_id: str | None
    ) -> JoinAnswer:
        """A leader must not assign again. One that can be told so is; others are told that the leader is
        somebody else, namely whom they were before."""
        if not self._members.is_leader(member):
            return self._phases.generation_of(member)
        if not request.can_skip_assignment:
            return self._phases.generation_of(member, leader_id=leader_id)
        return replace(self._phases.generation_of(member), skip_assignment=True)

    def _update(self, member: Member, request: JoinRequest) -> None:
        self._members.change_protocols(member, request.protocols)
        member.session_timeout_ms = request.session_timeout_ms
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
        member.client_id = request.client_id
        member.client_host = request.client_host

    def _sync_refusal(self, request: SyncRequest) -> ErrorCode:
        code = self._members.refusal(request.member)
        if code is not ErrorCode.NONE:
            return code
        if request.generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if request.protocol_type not in (None, self.protocol_type):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if request.protocol_name not in (None, self.protocol_name):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if self.phase is Phase.PREPARING:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return self._assignments_refusal(request)

    def _assignments_refusal(self, request: SyncRequest) -> ErrorCode:
        sizes = [len(assignment) for assignment in request.assignments.values()]
        if max(sizes, default=0) > self._limits.member_bytes_max:
            return ErrorCode.INVALID_REQUEST
        if self._members.byte_count + sum(sizes) > self._limits.group_bytes_max:
            return ErrorCode.INVALID_REQUEST
        return ErrorCode.NONE

    def _leave(self, identity: MemberIdentity) -> ErrorCode:
        member_id, instance_id = identity
        if member_id in self._phases.awaited_returns and instance_id is None:
            self._phases.awaited_returns.discard(member_id)
            self._phases.deadlines.clear(Deadline(Wait.RETURN, member_id))
            return ErrorCode.NONE
        if member_id == NO_MEMBER_ID and instance_id is not None:
            # As tools remove a static member, of which they know only the name.
            member = self._members.of_instance(instance_id)
            if member is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
        else:
            code = self._members.refusal(identity)
            if code is not ErrorCode.NONE:
                return code
            member = self._members[member_id]
        self._phases.remove(member)
        return ErrorCode.NONE

    def _touch_unless_waiting(self, member: Member, now_ms: int) -> None:
        if not member.awaits_join and member.sync_ticket is None:
            self._phases.touch(member, now_ms=now_ms)

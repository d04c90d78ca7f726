"""Whatever members do, in whatever order, a group keeps its promises."""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from inkless.groups.effects import Ticket
from inkless.groups.events import MemberIdentity
from inkless.groups.limits import GroupLimits
from inkless.groups.phases import Phase
from inkless.protocol.error_codes import ErrorCode
from support.group_driver import DELAY_MS, REBALANCE_MS, SESSION_MS, GroupDriver, offers

MEMBERS_MAX = 5
METADATA = st.sampled_from([b"orders", b"payments"])
INSTANCES = st.sampled_from([None, None, "one", "two"])
DURATIONS_MS = st.sampled_from([1, DELAY_MS, DELAY_MS, SESSION_MS // 2, SESSION_MS, REBALANCE_MS])


@dataclass
class Client:
    """What a member knows: its last answers."""

    instance_id: str | None
    member_id: str = ""
    generation: int = -1
    must_join: bool = True
    has_assignment: bool = False
    leads: list[str] = field(default_factory=list)
    join: Ticket | None = None
    sync: Ticket | None = None

    @property
    def identity(self) -> MemberIdentity:
        return MemberIdentity(self.member_id, self.instance_id)

    @property
    def waits(self) -> bool:
        return self.join is not None or self.sync is not None


class GroupMachine(RuleBasedStateMachine):
    """Clients that behave, crash and come back; those that wait send nothing, as the protocol has it."""

    clients: list[Client]

    @initialize()
    def begin(self) -> None:
        limits = GroupLimits(initial_rebalance_delay_ms=DELAY_MS, members_max=MEMBERS_MAX)
        self.driver = GroupDriver(limits)
        self.clients = []
        self.ids = 0
        self.last_generation = 0

    def a_client(self, data: st.DataObject, *, waits: bool = False) -> Client | None:
        able = [client for client in self.clients if client.waits is waits]
        return data.draw(st.sampled_from(able)) if able else None

    @rule(instance_id=INSTANCES)
    def client_starts(self, instance_id: str | None) -> None:
        if len(self.clients) < 2 * MEMBERS_MAX:
            self.clients.append(Client(instance_id))

    @rule(data=st.data(), metadata=METADATA, needs_known_id=st.booleans(), can_skip=st.booleans())
    def client_joins(
        self, data: st.DataObject, metadata: bytes, needs_known_id: bool, can_skip: bool
    ) -> None:
        client = self.a_client(data)
        if client is not None:
            self.join(client, metadata, needs_known_id=needs_known_id, can_skip_assignment=can_skip)

    @rule(data=st.data())
    def client_syncs(self, data: st.DataObject) -> None:
        client = self.a_client(data)
        if client is not None and client.generation >= 0:
            self.sync(client)

    @rule(metadata=METADATA, rounds=st.integers(1, 3))
    def everybody_takes_the_next_step(self, metadata: bytes, rounds: int) -> None:
        for _ in range(rounds):
            for client in list(self.clients):
                if client.waits or client not in self.clients:
                    continue
                if client.must_join:
                    self.join(client, metadata)
                elif not client.has_assignment:
                    self.sync(client)
                else:
                    self.heartbeat(client)
            self.time_passes(DELAY_MS)

    def join(
        self,
        client: Client,
        metadata: bytes,
        *,
        needs_known_id: bool = True,
        can_skip_assignment: bool = True,
    ) -> None:
        protocols = offers("range", "sticky", metadata=metadata)
        if client.member_id:
            client.join = self.driver.join(
                client.member_id, instance_id=client.instance_id, protocols=protocols
            )
        else:
            self.ids += 1
            client.join = self.driver.newcomer(
                f"member-{self.ids}",
                instance_id=client.instance_id,
                protocols=protocols,
                needs_known_id=needs_known_id,
                can_skip_assignment=can_skip_assignment,
            )
        self.read_answers()

    def sync(self, client: Client) -> None:
        assignments = {member_id: f"{client.generation}/{member_id}".encode() for member_id in client.leads}
        client.sync = self.driver.sync(
            client.member_id,
            assignments,
            instance_id=client.instance_id,
            generation=client.generation,
        )
        self.read_answers()

    def heartbeat(self, client: Client) -> None:
        code = self.driver.heartbeat(
            client.member_id, instance_id=client.instance_id, generation=client.generation
        )
        self.obey(client, code)

    @rule(data=st.data())
    def client_sends_heartbeat(self, data: st.DataObject) -> None:
        client = self.a_client(data)
        if client is not None and client.generation >= 0:
            self.heartbeat(client)

    @rule(data=st.data())
    def client_leaves(self, data: st.DataObject) -> None:
        client = self.a_client(data)
        if client is not None:
            self.driver.leave(client.identity)
            self.clients.remove(client)
            self.read_answers()

    @rule(data=st.data(), waits=st.booleans())
    def client_crashes(self, data: st.DataObject, waits: bool) -> None:
        client = self.a_client(data, waits=waits)
        if client is not None:
            self.clients.remove(client)

    @rule(duration_ms=DURATIONS_MS)
    def time_passes(self, duration_ms: int) -> None:
        self.driver.pass_time(duration_ms)
        self.read_answers()

    @precondition(lambda self: self.driver.group.phase is Phase.STABLE)
    @rule(data=st.data())
    def stale_generations_do_not_commit(self, data: st.DataObject) -> None:
        members = self.driver.group.members
        member = data.draw(st.sampled_from(members))
        stale = data.draw(st.integers(0, self.driver.group.generation + 1))
        code = self.driver.check_commit(member.member_id, instance_id=member.instance_id, generation=stale)
        expected = ErrorCode.NONE if stale == self.driver.group.generation else ErrorCode.ILLEGAL_GENERATION
        assert code is expected

    def read_answers(self) -> None:
        for client in list(self.clients):
            if client.join is not None and not self.driver.is_parked(client.join):
                answer = self.driver.joined(client.join)
                client.join = None
                if answer.error is ErrorCode.NONE:
                    client.member_id, client.generation = answer.member_id, answer.generation
                    client.must_join, client.has_assignment = False, False
                    client.leads = [] if answer.skip_assignment else [m.member_id for m in answer.members]
                elif answer.error is ErrorCode.MEMBER_ID_REQUIRED:
                    client.member_id = answer.member_id
                else:
                    self.obey(client, answer.error)
            elif client.sync is not None and not self.driver.is_parked(client.sync):
                synced = self.driver.synced(client.sync)
                client.sync = None
                self.obey(client, synced.error)
                if synced.error is ErrorCode.NONE:
                    client.has_assignment = True
                    self.check_assignment(client, synced.assignment)

    def check_assignment(self, client: Client, assignment: bytes) -> None:
        """It is of the member's own generation, and made for it, or for the one whose place it took;
        empty if the leader brought none for it."""
        generation, _, member_id = assignment.decode().partition("/")
        assert assignment == b"" or int(generation) == client.generation
        if client.instance_id is None:
            assert assignment == b"" or member_id == client.member_id

    def obey(self, client: Client, code: ErrorCode) -> None:
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            client.member_id, client.generation, client.leads = "", -1, []
            client.must_join = True
        elif code in (ErrorCode.FENCED_INSTANCE_ID, ErrorCode.GROUP_MAX_SIZE_REACHED):
            self.clients.remove(client)
        elif code is ErrorCode.REBALANCE_IN_PROGRESS:
            client.must_join = True
        else:
            assert code is ErrorCode.NONE

    @invariant()
    def generation_never_goes_back(self) -> None:
        generation = self.driver.group.generation
        assert generation >= self.last_generation
        numbers = [begun.generation for begun in self.driver.generations]
        assert numbers == list(range(1, generation + 1))
        self.last_generation = generation

    @invariant()
    def leader_is_a_member(self) -> None:
        group = self.driver.group
        ids = {member.member_id for member in group.members}
        assert (group.leader_id in ids) if ids else group.leader_id is None

    @invariant()
    def members_are_counted_right(self) -> None:
        members = self.driver.group._phases.members
        assert members.awaiting_join == sum(member.awaits_join for member in members)
        assert members.byte_count == sum(member.byte_count for member in members)

    @invariant()
    def empty_means_without_members_and_timers(self) -> None:
        group = self.driver.group
        if group.phase is Phase.EMPTY:
            assert not group.members
            assert not group.is_idle or group.wake_at() is None

    @invariant()
    def nothing_waits_for_what_cannot_come(self) -> None:
        group = self.driver.group
        for member in group.members:
            assert not member.awaits_join or group.phase is Phase.PREPARING
            assert member.sync_ticket is None or group.phase is Phase.COMPLETING
        if group.phase is not Phase.EMPTY:
            assert group.wake_at() is not None

    def teardown(self) -> None:
        """When everybody has gone silent, everything ends, and nobody is left without an answer."""
        if hasattr(self, "driver"):
            self.driver.pass_time(20 * REBALANCE_MS)
            assert self.driver.group.phase is Phase.EMPTY
            assert self.driver.group.is_idle
            assert len(self.driver.answers) == next(self.driver._tickets) - 1


TestGroupMachine = GroupMachine.TestCase
TestGroupMachine.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)

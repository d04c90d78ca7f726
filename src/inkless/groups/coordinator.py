"""The groups of this broker: claimed when they are first needed, given up when they are another's."""

import logging
from collections import OrderedDict
from collections.abc import Sequence

from inkless.clock import Clock, TaskOwner
from inkless.cluster.coordinators import coordinator_of
from inkless.cluster.membership import Membership
from inkless.coordinator.contract import GroupStore
from inkless.coordinator.types import GroupFence
from inkless.errors import InklessError, RequestError
from inkless.groups.effects import GenerationBegun, JoinAnswer, SyncAnswer
from inkless.groups.events import JoinRequest, MemberIdentity, SyncRequest
from inkless.groups.hosted_group import HostedGroup
from inkless.groups.limits import GroupLimits
from inkless.groups.phases import Phase
from inkless.protocol.error_codes import ErrorCode
from inkless.settings import GroupSettings

log = logging.getLogger(__name__)

_TASKS_PER_GROUP = 4
_EVICTION_TRIES = 100


class GroupCoordinator:
    """Every call names its group; one that another broker coordinates is refused with NOT_COORDINATOR.

    Methods raise RequestError with the code for the client, and Unavailable when the database is needed and
    does not answer.
    """

    def __init__(
        self, settings: GroupSettings, *, store: GroupStore, membership: Membership, clock: Clock
    ) -> None:
        self._groups_max = settings.groups_max
        self._limits = GroupLimits.of(settings)
        self._store = store
        self._membership = membership
        self._clock = clock
        self._hosted: OrderedDict[str, HostedGroup] = OrderedDict()
        self._tasks = TaskOwner("groups", tasks_max=_TASKS_PER_GROUP * settings.groups_max)
        self._stopping = False

    def __len__(self) -> int:
        return len(self._hosted)

    async def join(self, group_id: str, request: JoinRequest) -> JoinAnswer:
        """Returns when the generation has begun that the member is in."""
        hosted = self.find(group_id)
        if self._stopping:
            raise RequestError(ErrorCode.NOT_COORDINATOR)
        if hosted is None:
            if request.member.member_id:
                raise RequestError(ErrorCode.UNKNOWN_MEMBER_ID)
            hosted = await self.claim(group_id)
        return await hosted.join(request)

    async def sync(self, group_id: str, request: SyncRequest) -> SyncAnswer:
        """Returns when the leader has sent the assignments."""
        if self._stopping:
            raise RequestError(ErrorCode.NOT_COORDINATOR)
        return await self._find_joined(group_id).sync(request)

    def heartbeat(self, group_id: str, identity: MemberIdentity, generation: int) -> ErrorCode:
        return self._find_joined(group_id).heartbeat(identity, generation)

    def leave(self, group_id: str, identities: Sequence[MemberIdentity]) -> list[ErrorCode]:
        """One code for each."""
        hosted = self.find(group_id)
        if hosted is None:
            return [ErrorCode.UNKNOWN_MEMBER_ID] * len(identities)
        return hosted.leave(identities)

    async def delete(self, group_id: str) -> None:
        """RequestError GROUP_ID_NOT_FOUND, or NON_EMPTY_GROUP while there are members."""
        hosted = await self.claim_existing(group_id)
        if hosted.group.phase is not Phase.EMPTY:
            raise RequestError(ErrorCode.NON_EMPTY_GROUP)
        # Whoever comes from now on claims a group anew, after this deletion.
        self.drop(hosted)
        await self._store.delete_group(hosted.fence)

    def is_coordinated_here(self, group_id: str) -> bool:
        chosen = coordinator_of(group_id, self._membership.brokers)
        return chosen.broker_id == self._membership.registration.broker_id

    def find(self, group_id: str) -> HostedGroup | None:
        """The group if it is here already; None for one that has no members, if it exists at all."""
        hosted = self._hosted.get(group_id)
        if not self.is_coordinated_here(group_id):
            if hosted is not None:
                self.drop(hosted)
            # The client was sent here by a broker that may know better who is alive.
            self._membership.catch_up_soon()
            raise RequestError(ErrorCode.NOT_COORDINATOR)
        return hosted

    async def claim(self, group_id: str) -> HostedGroup:
        """The group, made if there is none. Claims of one process are one claim, so two that run at once do
        no harm, and who comes second finds the group of the first."""
        hosted = self.find(group_id)
        if hosted is not None:
            return hosted
        self._make_room()
        registration = self._membership.registration
        claim = await self._store.claim_group(
            group_id, broker_id=registration.broker_id, incarnation=registration.incarnation
        )
        hosted = self._hosted.get(group_id)
        if hosted is None or hosted.fence != claim.fence:
            if hosted is not None:
                self.drop(hosted)
            hosted = self._hosted[group_id] = HostedGroup(
                claim,
                self._limits,
                clock=self._clock,
                tasks=self._tasks,
                on_generation=self._generation_begun,
            )
        return hosted

    async def claim_existing(self, group_id: str) -> HostedGroup:
        """RequestError GROUP_ID_NOT_FOUND instead of a new group."""
        hosted = self.find(group_id)
        if hosted is not None:
            return hosted
        if not await self._store.load_groups([group_id]):
            raise RequestError(ErrorCode.GROUP_ID_NOT_FOUND)
        return await self.claim(group_id)

    def drop(self, hosted: HostedGroup) -> None:
        """Forgets the group's members; what it has in the database stays."""
        if self._hosted.get(hosted.fence.group_id) is hosted:
            del self._hosted[hosted.fence.group_id]
        hosted.give_up()

    def forget(self, group_id: str) -> None:
        """The group has gone from the database."""
        hosted = self._hosted.get(group_id)
        if hosted is not None and hosted.group.is_idle:
            self.drop(hosted)

    def drop_those_of_others(self) -> None:
        """After brokers have come or gone."""
        for group_id, hosted in list(self._hosted.items()):
            if not self.is_coordinated_here(group_id):
                self.drop(hosted)

    def fences_in_use(self) -> list[GroupFence]:
        """Of the groups that have members."""
        return [hosted.fence for hosted in self._hosted.values() if not hosted.group.is_idle]

    def stop(self) -> None:
        """Nobody waits for others any more. Heartbeats, departures and commits still get their answers."""
        self._stopping = True
        for hosted in self._hosted.values():
            hosted.give_up()

    async def close(self) -> None:
        self.stop()
        await self._tasks.close()

    def _find_joined(self, group_id: str) -> HostedGroup:
        hosted = self.find(group_id)
        if hosted is None:
            raise RequestError(ErrorCode.UNKNOWN_MEMBER_ID)
        return hosted

    def _make_room(self) -> None:
        """A group without members can always go: everything about it is in the database."""
        for _ in range(min(_EVICTION_TRIES, len(self._hosted))):
            if len(self._hosted) < self._groups_max:
                return
            group_id, hosted = next(iter(self._hosted.items()))
            if hosted.group.is_idle:
                self.drop(hosted)
            else:
                self._hosted.move_to_end(group_id)
        if len(self._hosted) >= self._groups_max:
            raise RequestError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "This broker has too many groups.")

    def _generation_begun(self, hosted: HostedGroup, begun: GenerationBegun) -> None:
        self._tasks.spawn(self._record_generation(hosted, begun))

    async def _record_generation(self, hosted: HostedGroup, begun: GenerationBegun) -> None:
        """Nobody waits for it. Were it lost, a later coordinator would use the number again, for members with
        other ids; and a member is known by both."""
        try:
            await self._store.record_generation(
                hosted.fence, generation=begun.generation, protocol_type=begun.protocol_type
            )
        except RequestError:
            self.drop(hosted)
        except InklessError as error:
            log.warning(
                "generation of a group not recorded",
                extra={"group": hosted.fence.group_id, "error": str(error)},
            )

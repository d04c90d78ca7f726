"""How far groups have read: committed by their members, fetched by whoever continues."""

from collections.abc import Mapping, Sequence

from inkless.coordinator.contract import GroupStore
from inkless.coordinator.types import CommittedOffset, PartitionId
from inkless.errors import RequestError
from inkless.groups.coordinator import GroupCoordinator
from inkless.groups.events import NO_GENERATION, MemberIdentity
from inkless.groups.hosted_group import HostedGroup
from inkless.groups.phases import Phase
from inkless.groups.subscription import CONSUMER_PROTOCOL_TYPE, subscribed_topics
from inkless.protocol.error_codes import ErrorCode


class GroupOffsets:
    """Methods raise as those of `GroupCoordinator` do."""

    def __init__(self, coordinator: GroupCoordinator, store: GroupStore) -> None:
        self._coordinator = coordinator
        self._store = store

    async def commit(
        self,
        group_id: str,
        identity: MemberIdentity,
        generation: int,
        offsets: Mapping[PartitionId, CommittedOffset],
    ) -> None:
        """Durable when it returns. Commits are judged when they arrive and reach the database in that order,
        so one of an earlier generation can never come after one of a later."""
        hosted = self._coordinator.find(group_id)
        if hosted is None:
            if generation > NO_GENERATION:
                raise RequestError(ErrorCode.UNKNOWN_MEMBER_ID)
            hosted = await self._coordinator.claim(group_id)
        code = hosted.check_commit(identity, generation)
        if code is not ErrorCode.NONE:
            raise RequestError(code)
        if offsets:
            await self._commit(hosted, offsets)

    async def fetch(
        self, group_id: str, partitions: Sequence[PartitionId] | None
    ) -> Mapping[PartitionId, CommittedOffset]:
        """Those that there are, of the given partitions or of all. A group that does not exist has none."""
        self._coordinator.find(group_id)
        return await self._store.fetch_offsets(group_id, partitions)

    async def delete(
        self, group_id: str, partitions: Mapping[PartitionId, str]
    ) -> dict[PartitionId, ErrorCode]:
        """Removes the offsets of partitions, given with the names of their topics, except of topics that
        members read. RequestError GROUP_ID_NOT_FOUND; NON_EMPTY_GROUP when nobody can know what is read."""
        hosted = await self._coordinator.claim_existing(group_id)
        is_read = _topics_in_use(hosted)
        codes = {
            partition: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if topic in is_read else ErrorCode.NONE
            for partition, topic in partitions.items()
        }
        removable = [partition for partition, code in codes.items() if code is ErrorCode.NONE]
        if removable:
            await self._store.delete_offsets(hosted.fence, removable)
        return codes

    async def _commit(self, hosted: HostedGroup, offsets: Mapping[PartitionId, CommittedOffset]) -> None:
        try:
            await self._store.commit_offsets(hosted.fence, offsets)
        except RequestError:
            # The claim is over: another broker has the group, or it was deleted.
            self._coordinator.drop(hosted)
            raise


def _topics_in_use(hosted: HostedGroup) -> set[str]:
    group = hosted.group
    if group.phase is Phase.EMPTY:
        return set()
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        raise RequestError(ErrorCode.NON_EMPTY_GROUP)
    topics: set[str] = set()
    for member in group.members:
        for offer in member.protocols:
            topics |= subscribed_topics(offer.metadata)
    return topics

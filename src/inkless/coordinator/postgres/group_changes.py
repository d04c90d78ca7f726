"""Changes of consumer groups in the order of their calls; waiting commits of offsets go through together."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from inkless.coordinator.postgres import groups
from inkless.coordinator.postgres.connections import Connection, Pool
from inkless.coordinator.types import CommittedOffset, GroupFence, PartitionId


@dataclass(frozen=True, slots=True)
class OffsetCommit:
    """Offsets of one call; neighbouring ones share a transaction."""

    fence: GroupFence
    offsets: Mapping[PartitionId, CommittedOffset]


@dataclass(frozen=True, slots=True)
class GroupChange:
    """Any other change of a group, in a transaction of its own."""

    carry_out: Callable[[Connection], Awaitable[Any]]


class GroupChanges:
    """Carries out groups of changes, each wholly or not at all."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def execute(self, works: Sequence[OffsetCommit | GroupChange]) -> Sequence[Any]:
        outcomes: list[Any] = []
        for kind, neighbours in groupby(works, key=type):
            if kind is OffsetCommit:
                commits = [work for work in neighbours if isinstance(work, OffsetCommit)]
                outcomes += await self._commit_offsets(commits)
            else:
                outcomes += [await self._change(work) for work in neighbours if isinstance(work, GroupChange)]
        return outcomes

    async def _commit_offsets(self, commits: Sequence[OffsetCommit]) -> Sequence[Any]:
        pairs = [(commit.fence, commit.offsets) for commit in commits]
        try:
            return await self._pool.transact(lambda connection: groups.commit_offsets(connection, pairs))
        except Exception as error:  # noqa: BLE001 one caller's fault must not fail the others of its group
            if len(commits) == 1:
                return [error]
            return [outcome for commit in commits for outcome in await self._commit_offsets([commit])]

    async def _change(self, change: GroupChange) -> Any:
        try:
            return await self._pool.transact(change.carry_out)
        except Exception as error:  # noqa: BLE001 handed to the caller as it is
            return error

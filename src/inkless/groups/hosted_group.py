"""A group with what the state machine does without: a clock, requests that wait, a claim in the database."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from inkless.clock import Clock, TaskOwner
from inkless.coordinator.types import GroupClaim, GroupFence
from inkless.groups.effects import Answered, GenerationBegun, JoinAnswer, SyncAnswer, Ticket
from inkless.groups.events import JoinRequest, MemberIdentity, SyncRequest
from inkless.groups.group import Group
from inkless.groups.limits import GroupLimits
from inkless.protocol.error_codes import ErrorCode


class HostedGroup:
    """Hands events to the group and carries out what it wants done.

    A request whose client is gone stops waiting, but its member stays: it lives until its session runs out,
    as in Kafka, where nobody notices the broken connection either.
    """

    def __init__(
        self,
        claim: GroupClaim,
        limits: GroupLimits,
        *,
        clock: Clock,
        tasks: TaskOwner,
        on_generation: Callable[["HostedGroup", GenerationBegun], None],
    ) -> None:
        self._fence = claim.fence
        self._group = Group(limits, generation=claim.generation, protocol_type=claim.protocol_type)
        self._clock = clock
        self._tasks = tasks
        self._on_generation = on_generation
        self._waiting: dict[Ticket, asyncio.Future[Any]] = {}
        self._tickets = 0
        self._timer: asyncio.Task[None] | None = None
        self._timer_at_ms = 0

    @property
    def fence(self) -> GroupFence:
        return self._fence

    @property
    def group(self) -> Group:
        """To look at; events go through this class."""
        return self._group

    async def join(self, request: JoinRequest) -> JoinAnswer:
        ticket = self._next_ticket()
        self._group.join(request, ticket=ticket, now_ms=self._now_ms())
        answer: JoinAnswer = await self._answer(ticket)
        return answer

    async def sync(self, request: SyncRequest) -> SyncAnswer:
        ticket = self._next_ticket()
        self._group.sync(request, ticket=ticket, now_ms=self._now_ms())
        answer: SyncAnswer = await self._answer(ticket)
        return answer

    def heartbeat(self, identity: MemberIdentity, generation: int) -> ErrorCode:
        return self._group.heartbeat(identity, generation, now_ms=self._now_ms())

    def leave(self, identities: Sequence[MemberIdentity]) -> list[ErrorCode]:
        codes = self._group.leave(identities, now_ms=self._now_ms())
        self._carry_out()
        return codes

    def check_commit(self, identity: MemberIdentity, generation: int) -> ErrorCode:
        return self._group.check_commit(identity, generation, now_ms=self._now_ms())

    def give_up(self) -> None:
        """Everybody who waits is sent to look for another coordinator; the timer stops."""
        self._group.give_up(ErrorCode.NOT_COORDINATOR)
        for effect in self._group.take_effects():
            if isinstance(effect, Answered):
                self._deliver(effect)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _answer(self, ticket: Ticket) -> Any:
        future = self._waiting[ticket] = asyncio.get_running_loop().create_future()
        try:
            self._carry_out()
            return await future
        finally:
            del self._waiting[ticket]

    def _carry_out(self) -> None:
        for effect in self._group.take_effects():
            if isinstance(effect, Answered):
                self._deliver(effect)
            else:
                self._on_generation(self, effect)
        self._set_timer()

    def _deliver(self, effect: Answered) -> None:
        future = self._waiting.get(effect.ticket)
        if future is not None and not future.done():
            future.set_result(effect.answer)

    def _set_timer(self) -> None:
        """Deadlines mostly move later, and then the timer stays: it looks again when it rings."""
        wake_at_ms = self._group.wake_at()
        if wake_at_ms is None or (self._timer is not None and self._timer_at_ms <= wake_at_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at_ms = wake_at_ms
        self._timer = self._tasks.spawn(self._expire_at(wake_at_ms))

    async def _expire_at(self, at_ms: int) -> None:
        await self._clock.sleep(max(0.0, at_ms / 1000 - self._clock.monotonic()))
        self._timer = None
        self._group.expire(now_ms=self._now_ms())
        self._carry_out()

    def _next_ticket(self) -> Ticket:
        self._tickets += 1
        return Ticket(self._tickets)

    def _now_ms(self) -> int:
        return int(self._clock.monotonic() * 1000)

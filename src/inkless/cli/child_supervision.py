"""Starts the brokers of a local cluster together, watches them, and ends them together."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from inkless.cli.child_broker import ChildBroker, Say, describe_exit
from inkless.cli.session import CommandFailed
from inkless.clock import Clock, TaskOwner

RESTARTS_IN_A_ROW_MAX = 10
_RESTART_PAUSE_S = 1.0
_RESTART_PAUSE_S_MAX = 30.0
_STEADY_S = 60.0


@dataclass(slots=True)
class StopRequest:
    """To stop, and when it is repeated, to stop without waiting."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    insisted: asyncio.Event = field(default_factory=asyncio.Event)

    def repeat(self) -> None:
        (self.insisted if self.asked.is_set() else self.asked).set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait for all brokers to be ready, and for all of them to end."""

    start_s: float = 60.0
    stop_s: float = 45.0


class Supervision:
    """Of all brokers of one cluster, for one run of it."""

    def __init__(
        self,
        children: Sequence[ChildBroker],
        *,
        stop: StopRequest,
        restart: bool,
        patience: Patience,
        say: Say,
        clock: Clock,
    ) -> None:
        self._children = children
        self._stop = stop
        self._restart = restart
        self._patience = patience
        self._say = say
        self._clock = clock
        self._tasks = TaskOwner("local cluster")
        self._runs: dict[asyncio.Task[int], ChildBroker] = {}
        self._started_at = {child: clock.monotonic() for child in children}
        self._restarts_in_a_row = dict.fromkeys(children, 0)

    async def run(self, on_ready: Callable[[], None]) -> None:
        """Returns when the cluster was asked to stop and has stopped; CommandFailed when it could not start,
        or has no broker left. No process is left behind in any case."""
        try:
            for child in self._children:
                self._runs[self._tasks.spawn(child.run())] = child
            if await self._all_are_ready():
                on_ready()
                await self._watch()
        finally:
            await self._end_all()

    async def _all_are_ready(self) -> bool:
        """False when a stop was asked for first."""
        asked = self._tasks.spawn(self._stop.asked.wait())
        ready = self._tasks.spawn(_wait_for_all(self._children))
        done, _ = await asyncio.wait(
            {asked, ready, *self._runs},
            timeout=self._patience.start_s,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if asked in done:
            return False
        for run in self._runs:
            if run in done:
                child = self._runs[run]
                raise CommandFailed(
                    f"broker {child.planned.node_id} {describe_exit(run.result())} before the cluster was "
                    f"ready, and so the others were stopped: {child.last_line}"
                )
        if ready not in done:
            late = [str(child.planned.node_id) for child in self._children if not child.ready.is_set()]
            raise CommandFailed(f"not ready after {self._patience.start_s:g} s: broker {', '.join(late)}")
        return True

    async def _watch(self) -> None:
        asked = self._tasks.spawn(self._stop.asked.wait())
        while True:
            done, _ = await asyncio.wait({asked, *self._runs}, return_when=asyncio.FIRST_COMPLETED)
            if asked in done:
                return
            for run in [run for run in self._runs if run in done]:
                child = self._runs.pop(run)
                self._say(f"broker {child.planned.node_id} {describe_exit(run.result())}")
                if self._restart:
                    self._start_again(child)
            if not self._runs:
                raise CommandFailed("no broker is left")

    def _start_again(self, child: ChildBroker) -> None:
        now = self._clock.monotonic()
        if now - self._started_at[child] > _STEADY_S:
            self._restarts_in_a_row[child] = 0
        restarts = self._restarts_in_a_row[child]
        if restarts >= RESTARTS_IN_A_ROW_MAX:
            self._say(f"broker {child.planned.node_id} was restarted {restarts} times in a row and is left")
            return
        pause_s = min(_RESTART_PAUSE_S * 2**restarts, _RESTART_PAUSE_S_MAX)
        self._restarts_in_a_row[child] += 1
        self._started_at[child] = now + pause_s
        self._runs[self._tasks.spawn(self._run_again(child, pause_s))] = child

    async def _run_again(self, child: ChildBroker, pause_s: float) -> int:
        telling = self._tasks.spawn(self._tell_when_back(child))
        try:
            return await child.run(after_s=pause_s)
        finally:
            telling.cancel()

    async def _tell_when_back(self, child: ChildBroker) -> None:
        await child.ready.wait()
        self._say(f"broker {child.planned.node_id} is back, process {child.pid}")

    async def _end_all(self) -> None:
        """Gracefully, as long as patience lasts; then the processes are killed."""
        for child in self._runs.values():
            child.stop()
        insisted = self._tasks.spawn(self._stop.insisted.wait())
        ended = self._tasks.spawn(_wait_for_end(list(self._runs)))
        await asyncio.wait(
            {insisted, ended}, timeout=self._patience.stop_s, return_when=asyncio.FIRST_COMPLETED
        )
        for run, child in self._runs.items():
            if not run.done():
                self._say(f"broker {child.planned.node_id} is killed")
                child.kill()
        await _wait_for_end(list(self._runs))
        await self._tasks.close()


async def _wait_for_all(children: Sequence[ChildBroker]) -> None:
    for child in children:
        await child.ready.wait()


async def _wait_for_end(runs: Sequence[asyncio.Task[int]]) -> None:
    if runs:
        await asyncio.wait(runs)

"""An event loop in which waiting takes no time: when nobody can run, the clock jumps to the next timer."""

import asyncio
from collections.abc import Sequence

EPOCH_MS = 1_700_000_000_000


class NobodyWillEverRun(RuntimeError):
    """Everything waits and no timer is set: in real life this process would hang for ever."""


class VirtualLoop(asyncio.BaseEventLoop):
    """Has no files, sockets or threads, only timers; so what happens in it depends on nothing outside."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._selector = self

    def time(self) -> float:
        return self._now

    def select(self, timeout: float | None) -> Sequence[object]:
        """The loop asks this for events, and how long it would wait for them."""
        if timeout is None:
            raise NobodyWillEverRun
        self._now += timeout
        return ()

    def _process_events(self, event_list: Sequence[object]) -> None:
        pass


class VirtualClock:
    """The loop's time as our code asks for it."""

    def now_ms(self) -> int:
        return EPOCH_MS + int(self.monotonic() * 1000)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

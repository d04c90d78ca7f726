"""One broker of a local cluster: a process of its own, whose output is passed on line by line."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Callable

from inkless.cli.cluster_plan import PlannedBroker

READY_LINE = "inkless is ready on "
BANNER_END = "  stop "
_LINE_BYTES_MAX = 64 * 1024
_CHUNK_BYTES = 16 * 1024

Say = Callable[[str], None]


class ChildBroker:
    """Runs `inkless serve`, once or again and again; at most one process at a time."""

    def __init__(self, planned: PlannedBroker, say: Say) -> None:
        self.planned = planned
        self.ready = asyncio.Event()
        self.last_line = ""
        self._say = say
        self._process: asyncio.subprocess.Process | None = None
        self._stop_asked = asyncio.Event()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def run(self, *, after_s: float = 0.0) -> int:
        """Starts the process and returns its exit code, negative for the signal that ended it.

        A stop that is asked for while it waits to start keeps it from starting.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(after_s):
                await self._stop_asked.wait()
        if self._stop_asked.is_set():
            return 0
        self._process = process = await asyncio.create_subprocess_exec(
            *command_line(self.planned),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        if self._stop_asked.is_set():
            self._signal(signal.SIGTERM)
        try:
            if process.stdout is not None:
                await self._pass_on(process.stdout)
            return await process.wait()
        finally:
            self._signal(signal.SIGKILL)
            self.ready.clear()
            self._process = None

    def stop(self) -> None:
        """Lets it finish what it has taken."""
        self._stop_asked.set()
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._stop_asked.set()
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def _pass_on(self, output: asyncio.StreamReader) -> None:
        in_banner = False
        async for line in _lines(output):
            self.last_line = line
            # What each of them says to newcomers, the cluster says once for all.
            if line.startswith(READY_LINE):
                in_banner = True
                self.ready.set()
            if not in_banner:
                self._say(f"[{self.planned.node_id}] {line}")
            if line.startswith(BANNER_END):
                in_banner = False


def command_line(planned: PlannedBroker) -> list[str]:
    options = [part for key, value in planned.options.items() for part in ("-o", f"{key}={value}")]
    return [sys.executable, "-m", "inkless.cli", "serve", *options]


def describe_exit(code: int) -> str:
    """As a person would say it."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


async def _lines(output: asyncio.StreamReader) -> AsyncIterator[str]:
    """Without their ends; one that is too long comes in parts."""
    pending = b""
    while chunk := await output.read(_CHUNK_BYTES):
        *whole, pending = (pending + chunk).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace")
        if len(pending) > _LINE_BYTES_MAX:
            yield pending.decode(errors="replace")
            pending = b""
    if pending:
        yield pending.decode(errors="replace")

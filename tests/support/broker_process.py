"""The broker as its users run it: a process of its own, started by the command, ended by a signal."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

START_SECONDS_MAX = 40.0
STOP_SECONDS_MAX = 40.0
_HOST = "127.0.0.1"


class BrokerProcess:
    """A broker on a loopback port that it keeps over restarts, with its data below `folder`.

    A context manager: leaving it ends the process, whatever became of it.
    """

    def __init__(self, folder: Path, options: Mapping[str, str] | None = None) -> None:
        self.port = free_port()
        self.log_path = folder / "broker.log"
        self._folder = folder
        self._options = {
            "listeners": f"PLAINTEXT://{_HOST}:{self.port}",
            "inkless.data.dir": str(folder / "data"),
            # Records of tests have fixed times long past, and must not vanish while the tests run.
            "log.retention.check.interval.ms": "86400000",
            **(options or {}),
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"{_HOST}:{self.port}"

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        """Returns when the broker takes connections."""
        if self.is_running:
            raise RuntimeError("the broker runs already")
        command = [sys.executable, "-m", "inkless.cli", "serve"]
        for key, value in self._options.items():
            command += ["-o", f"{key}={value}"]
        self._folder.mkdir(parents=True, exist_ok=True)
        with self.log_path.open("ab") as log:
            log_start = log.tell()
            self._process = subprocess.Popen(command, cwd=self._folder, stdout=log, stderr=log)
        self._wait_until_ready(log_start)
        return self

    def kill(self) -> None:
        """SIGKILL: the process gets no chance to finish anything."""
        process = self._running()
        process.send_signal(signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        """SIGTERM, and the promise that goes with it: everything is finished and the exit code is 0."""
        process = self._running()
        process.send_signal(signal.SIGTERM)
        exit_code = process.wait(STOP_SECONDS_MAX)
        assert exit_code == 0, f"exit code {exit_code}\n{self.log_tail()}"

    def log_tail(self, byte_count: int = 4000) -> str:
        """The end of what the broker wrote, for the message of a failing test."""
        if not self.log_path.exists():
            return ""
        return self.log_path.read_bytes()[-byte_count:].decode(errors="replace")

    @property
    def log_length(self) -> int:
        """In bytes, for `log_since`."""
        return self.log_path.stat().st_size

    def log_since(self, start: int) -> str:
        """What the broker wrote after that."""
        return self.log_path.read_bytes()[start:].decode(errors="replace")

    def memory_bytes(self) -> int:
        """Resident set now."""
        return self._status_bytes("VmRSS")

    def memory_peak_bytes(self) -> int:
        """The largest resident set the process has had."""
        return self._status_bytes("VmHWM")

    def cpu_seconds(self) -> float:
        """Processor time of all its threads since it was started."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def open_files(self) -> int:
        """How many file descriptors it holds, sockets among them."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.is_running:
            self.kill()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            raise AssertionError(f"the broker does not run\n{self.log_tail()}")
        return self._process

    def _wait_until_ready(self, log_start: int) -> None:
        # The port is bound, and so takes connections, before anybody serves them: only the banner tells.
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            if b"inkless is ready" in self.log_path.read_bytes()[log_start:]:
                return
            self._running()
            time.sleep(0.02)
        raise AssertionError(f"not ready after {START_SECONDS_MAX} s\n{self.log_tail()}")

    def _status_bytes(self, field: str) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"no {field} for process {self.pid}")


@contextlib.contextmanager
def running_broker(folder: Path, options: Mapping[str, str] | None = None) -> Iterator[BrokerProcess]:
    """A broker that is stopped gracefully, so that every test also tests how a broker ends."""
    with BrokerProcess(folder, options) as broker:
        yield broker
        if broker.is_running:
            broker.stop()


def free_port() -> int:
    """A port nobody listens on at the moment."""
    with socket.create_server((_HOST, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port

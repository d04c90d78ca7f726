"""A real S3 server for tests: SeaweedFS in one process, on loopback, in a folder of its own."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import obstore
import pytest
from obstore.exceptions import BaseError

from inkless.storage.remote_client import open_client
from inkless.storage.settings import StorageSettings

_START_SECONDS_MAX = 60
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class S3Server:
    """Where a running server is and how to get in."""

    endpoint: str
    bucket: str
    access_key: str
    secret_key: str

    def settings(self, prefix: str) -> StorageSettings:
        """Settings of a store below `prefix` of the server's bucket."""
        return StorageSettings(
            url=f"s3://{self.bucket}/{prefix}",
            s3_endpoint=self.endpoint,
            s3_region="us-east-1",
            s3_access_key=self.access_key,
            s3_secret_key=self.secret_key,
            s3_path_style=True,
            s3_allow_http=True,
        )


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """One server for the whole run; a test that wants to be alone takes a prefix of its own."""
    with running_seaweedfs(tmp_path_factory.mktemp("s3")) as server:
        yield server


@contextlib.contextmanager
def running_seaweedfs(folder: Path) -> Iterator[S3Server]:
    """Starts a server that keeps its data below `folder`, and ends it. Takes about a second."""
    for attempt in range(_ATTEMPTS):
        home = folder / f"seaweedfs-{attempt}"
        home.mkdir(parents=True)
        process, server = _start(home)
        try:
            # Ports were free a moment ago; when somebody else got one of them meanwhile, choose anew.
            if _is_ready(process, server):
                yield server
                return
        finally:
            _end(process)
            shutil.rmtree(home, ignore_errors=True)
    raise RuntimeError(f"SeaweedFS did not start in {_ATTEMPTS} attempts")


def _start(home: Path) -> tuple[subprocess.Popen[bytes], S3Server]:
    master, volume, filer, s3, admin, webdav, metrics = _free_ports(7)
    server = S3Server(
        endpoint=f"http://127.0.0.1:{s3}",
        bucket="inkless",
        access_key="test-access",
        secret_key="test-secret",
    )
    command = [
        str(Path(sys.executable).with_name("weed")),
        "mini",
        f"-dir={home}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        f"-master.port={master}",
        f"-volume.port={volume}",
        f"-filer.port={filer}",
        f"-s3.port={s3}",
        f"-admin.port={admin}",
        f"-webdav.port={webdav}",
        f"-metricsPort={metrics}",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-webdav=false",
        "-admin.ui=false",
        "-filer.maxMB=1",
        "-s3.cacheCapacityMB=512",
        f"-bucket={server.bucket}",
    ]
    environment = os.environ | {
        "AWS_ACCESS_KEY_ID": server.access_key,
        "AWS_SECRET_ACCESS_KEY": server.secret_key,
        "HOME": str(home),
    }
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=home, env=environment, stdout=log, stderr=log)
    return process, server


def _is_ready(process: subprocess.Popen[bytes], server: S3Server) -> bool:
    deadline = time.monotonic() + _START_SECONDS_MAX
    while process.poll() is None and time.monotonic() < deadline:
        if _takes_objects(server):
            return True
        time.sleep(0.05)
    return False


def _takes_objects(server: S3Server) -> bool:
    # The port answers before the storage behind it takes objects, so only a put tells.
    client = open_client(server.settings(""), "s3", bucket=server.bucket, prefix="ready")
    try:
        obstore.put(client, "probe", b"x", use_multipart=False)
    except (BaseError, OSError):
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def _free_ports(count: int) -> list[int]:
    """Ports whose neighbour 10000 above is free too: the server takes that one for its own talk."""
    found: list[int] = []
    with contextlib.ExitStack() as taken:
        while len(found) < count:
            try:
                port = taken.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
                if port + 10_000 <= 65_535:
                    taken.enter_context(socket.create_server(("127.0.0.1", port + 10_000)))
                    found.append(port)
            except OSError:
                continue
    return found

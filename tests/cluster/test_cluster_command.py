"""`inkless cluster` as a user starts it, with real brokers."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import MetadataRequest, MetadataRequestTopic
from support.broker_cluster import wait_until
from support.broker_process import START_SECONDS_MAX, STOP_SECONDS_MAX, free_port
from support.bystander import batch_of
from support.raw_client import RawClient

KEEP = ("-o", "log.retention.hours=-1")
"""Records of tests have fixed times long past, and must not vanish while the tests run."""


class ClusterCommand:
    """The command in a process of its own, and what it has written so far."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._log_path = folder / "cluster.log"
        with self._log_path.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "inkless.cli", "cluster", *KEEP, *arguments],
                cwd=folder,
                stdout=log,
                stderr=log,
            )

    @property
    def said(self) -> str:
        return self._log_path.read_text()

    def wait_for(self, text: str) -> None:
        def has_come() -> bool:
            assert self.process.poll() is None, self.said
            return text in self.said

        wait_until(has_come, what=text, seconds_max=START_SECONDS_MAX)

    def broker_pid(self, broker_id: int) -> int:
        """As the table says."""
        row = re.search(rf"^ +{broker_id}  \S+ +127\.0\.0\.1:\d+ +(\d+)$", self.said, re.MULTILINE)
        assert row is not None, self.said
        return int(row[1])


@contextmanager
def cluster_command(folder: Path, *arguments: str) -> Iterator[ClusterCommand]:
    command = ClusterCommand(folder, *arguments)
    try:
        yield command
    finally:
        if command.process.poll() is None:
            command.process.terminate()
            command.process.wait(STOP_SECONDS_MAX)


def two_free_ports() -> int:
    """The first of two neighbours."""
    while True:
        port = free_port()
        try:
            RawClient(port + 1).close()
        except ConnectionRefusedError:
            return port


def test_a_cluster_is_one_command(tmp_path: Path) -> None:
    port = two_free_ports()
    arguments = (
        "--brokers",
        "2",
        "--zones",
        "x,y",
        "--base-port",
        str(port),
        "--data-dir",
        "here",
        "--restart",
    )
    with cluster_command(tmp_path, *arguments) as command:
        command.wait_for("the cluster is ready: 2 of 2 brokers")
        with RawClient(port) as first, RawClient(port + 1) as second:
            first.call(MetadataRequest([MetadataRequestTopic(name="t")]), 12)
            assert first.produce("t", 0, batch_of(b"value")).error_code == ErrorCode.NONE
            assert second.fetch("t", 0, 0).high_watermark == 1
            racks = {broker.node_id: broker.rack for broker in second.call(MetadataRequest([]), 12).brokers}
            assert racks == {0: "x", 1: "y"}
        assert (tmp_path / "here" / "control-plane.db").exists()
        subprocess.run(["kill", "-9", str(command.broker_pid(1))], check=True)
        command.wait_for("broker 1 was ended by SIGKILL")
        command.wait_for("broker 1 is back")
        with RawClient(port + 1) as second:
            assert second.fetch("t", 0, 0).high_watermark == 1
        command.process.send_signal(signal.SIGINT)
        assert command.process.wait(STOP_SECONDS_MAX) == 0, command.said


def test_a_port_in_use_stops_the_command_before_anything_starts(tmp_path: Path) -> None:
    port = two_free_ports()
    with cluster_command(tmp_path, "--brokers", "1", "--base-port", str(port)) as first:
        first.wait_for("the cluster is ready")
        (tmp_path / "second").mkdir()
        with cluster_command(tmp_path / "second", "--brokers", "2", "--base-port", str(port)) as second:
            assert second.process.wait(STOP_SECONDS_MAX) == 1
            assert f"127.0.0.1:{port}" in second.said
            assert "--base-port" in second.said
            assert not (tmp_path / "second" / "inkless-data").exists()


def test_a_broker_that_cannot_start_stops_the_others(tmp_path: Path) -> None:
    (tmp_path / "inkless-data").mkdir()
    (tmp_path / "inkless-data" / "control-plane.db").write_text("no database" * 1000)
    with cluster_command(tmp_path, "--brokers", "2", "--base-port", str(two_free_ports())) as command:
        assert command.process.wait(STOP_SECONDS_MAX) == 1, command.said
        assert "before the cluster was ready" in command.said

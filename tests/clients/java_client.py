"""Kafka's own Java client, the one that defines what the others imitate."""

import functools
from pathlib import Path

from clients.expected_records import CODECS, RECORDS, ReadRecord, expected_in
from clients.record_lines import from_lines, to_lines
from clients.roster import Client
from support.commands import build_once, command, run

SECONDS_MAX = 60.0
_FOLDER = Path(__file__).parent / "java"
# The programs live for a second or two: starting quickly is worth more than running fast.
_JVM_OPTIONS = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"]


class JavaClient:
    """kafka-clients in its newest protocol versions, idempotent as it is by default."""

    name = "java"
    codecs = CODECS
    records = RECORDS
    states_timestamps = True

    def __init__(self, java: str, built: Path) -> None:
        classpath = f"{built / 'target' / 'classes'}:{built / 'target' / 'dependency' / '*'}"
        self._command = [java, *_JVM_OPTIONS, "-cp", classpath, "SuiteClient"]

    def write(self, bootstrap: str, topic: str) -> None:
        run(
            [*self._command, "write", bootstrap, topic],
            given=to_lines(expected_in(CODECS)),
            seconds_max=SECONDS_MAX,
        )

    def read(self, bootstrap: str, topic: str, count: int) -> list[ReadRecord]:
        output = run([*self._command, "read", bootstrap, topic, str(count)], seconds_max=SECONDS_MAX)
        return from_lines(output.decode())


@functools.cache
def client() -> Client:
    java = command("java")
    maven = [command("mvn"), "-q", "-B", "compile", "dependency:copy-dependencies"]
    sources = [_FOLDER / "pom.xml", _FOLDER / "SuiteClient.java"]
    return JavaClient(java, build_once("java-client", sources, build=maven, seconds_max=100))

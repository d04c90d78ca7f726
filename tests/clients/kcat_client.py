"""kcat, which brings the librdkafka of its distribution: an older one than that of confluent-kafka."""

import subprocess
from itertools import groupby

from clients.confluent_client import create_topic
from clients.expected_records import CODECS, RECORDS, ExpectedRecord, ReadRecord, with_key_or_value
from clients.roster import Client
from support.commands import command, run

SECONDS_MAX = 30.0
_KEY_END = "\x1f"
_RECORD_END = "\x1e"


class KcatClient:
    """The command line client."""

    name = "kcat"
    codecs = CODECS
    # Keys and values come as delimited text, in which empty means null.
    records = tuple(
        record
        for record in with_key_or_value(RECORDS)
        if b"" not in (record.key, record.value) and b"\x1f" not in (record.value or b"")
    )
    states_timestamps = False

    def __init__(self, kcat: str) -> None:
        self._kcat = kcat

    def write(self, bootstrap: str, topic: str) -> None:
        create_topic(bootstrap, topic, partitions=len(CODECS))
        for partition, codec in enumerate(CODECS):
            # The headers of a call are those of all its records.
            for headers, records in groupby(self.records, key=lambda record: record.headers):
                arguments = [self._kcat, "-P", "-q", "-b", bootstrap, "-t", topic, "-p", str(partition)]
                arguments += ["-z", codec, "-Z", "-K", _KEY_END, "-D", _RECORD_END]
                run(
                    [*arguments, *_header_options(headers)],
                    given=_RECORD_END.encode().join(_as_input(record) for record in records),
                    seconds_max=SECONDS_MAX,
                )

    def read(self, bootstrap: str, topic: str, count: int) -> list[ReadRecord]:
        arguments = [self._kcat, "-C", "-q", "-e", "-b", bootstrap, "-t", topic, "-o", "beginning"]
        output = run([*arguments, "-f", r"%p %o %T %K %S %h\n%k%s"], seconds_max=SECONDS_MAX)
        return _parse(output)


def _as_input(record: ExpectedRecord) -> bytes:
    return (record.key or b"") + _KEY_END.encode() + (record.value or b"")


def _header_options(headers: tuple[tuple[str, bytes | None], ...]) -> list[bytes]:
    options: list[bytes] = []
    for name, value in headers:
        options += [b"-H", name.encode() if value is None else name.encode() + b"=" + value]
    return options


def _parse(output: bytes) -> list[ReadRecord]:
    read: list[ReadRecord] = []
    pos = 0
    while pos < len(output):
        line_end = output.index(b"\n", pos)
        partition, offset, timestamp_ms, key_length, value_length, headers = output[pos:line_end].split(
            b" ", 5
        )
        key_end = line_end + 1 + max(int(key_length), 0)
        pos = key_end + max(int(value_length), 0)
        record = ExpectedRecord(
            None if int(key_length) < 0 else output[line_end + 1 : key_end],
            None if int(value_length) < 0 else output[key_end:pos],
            tuple(_header(each) for each in headers.split(b",") if each),
            int(timestamp_ms),
        )
        read.append(ReadRecord(int(partition), int(offset), record))
    return read


def _header(text: bytes) -> tuple[str, bytes | None]:
    name, _, value = text.partition(b"=")
    return name.decode(), None if value == b"NULL" else value


def client() -> Client:
    kcat = command("kcat")
    version = subprocess.run([kcat, "-V"], capture_output=True, check=True).stdout
    assert b"librdkafka" in version
    return KcatClient(kcat)

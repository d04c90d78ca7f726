"""`inkless produce`: records from the command line or from stdin."""

import dataclasses
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from inkless.cli.options import bootstrap_option, codec_option, json_option, parse_key_value
from inkless.cli.record_input import LineRules, read_lines
from inkless.cli.session import CLUSTER_SETTINGS, CommandFailed, describe_error, open_cluster, run
from inkless.cli.tables import format_count, print_json
from inkless.client.pending import Delivery
from inkless.client.producer import Producer
from inkless.client.sender import ProducerSettings
from inkless.client.topology import Address
from inkless.clock import SystemClock, SystemEntropy
from inkless.errors import InklessError
from inkless.records.compress import Codec

ACKS = {"0": 0, "1": 1, "all": -1}

KeyAndValue = tuple[bytes | None, bytes | None]


@dataclass(frozen=True, slots=True)
class Destination:
    """What all records of one command have in common."""

    topic: str
    partition: int | None
    headers: tuple[tuple[str, bytes], ...]


@dataclass(slots=True)
class Acknowledgements:
    """What became of the records: counts, the offsets per partition, and the first that failed."""

    stored: int = 0
    offsets: dict[int, tuple[int, int]] = field(default_factory=dict)
    """First and last offset by partition; empty with acks 0, when brokers tell none."""
    first_error: Exception | None = None

    def take(self, delivery: Delivery | None, error: Exception | None) -> None:
        if delivery is None:
            self.first_error = self.first_error or error
            return
        self.stored += 1
        if delivery.offset >= 0:
            first, last = self.offsets.get(delivery.place.partition, (delivery.offset, delivery.offset))
            self.offsets[delivery.place.partition] = min(first, delivery.offset), max(last, delivery.offset)

    def as_json(self, topic: str) -> dict[str, Any]:
        return {
            "topic": topic,
            "records": self.stored,
            "partitions": [
                {"partition": partition, "first_offset": first, "last_offset": last}
                for partition, (first, last) in sorted(self.offsets.items())
            ],
        }

    def as_text(self, topic: str) -> str:
        places = ", ".join(
            f"partition {partition} at {first}" + (f" to {last}" if last > first else "")
            for partition, (first, last) in sorted(self.offsets.items())
        )
        return f"{format_count(self.stored, 'record')} to {topic}" + (f" ({places})" if places else "")


@click.command()
@click.argument("topic")
@click.argument("values", metavar="[VALUE]...", nargs=-1)
@click.option("-k", "--key", help="Key of the VALUEs.")
@click.option("-K", "--key-separator", metavar="TEXT", help="What ends the key in a line of stdin.")
@click.option("--null", "null_text", metavar="TEXT", help="A key or value that reads like this is null.")
@click.option(
    "-H",
    "--header",
    "headers",
    type=parse_key_value,
    metavar="KEY=VALUE",
    multiple=True,
    help="A header of every record; may be repeated.",
)
@click.option(
    "-p", "--partition", type=click.IntRange(min=0), help="Write to this partition.  [default: by key]"
)
@click.option(
    "--acks", type=click.Choice(list(ACKS)), default="all", show_default=True, help="0: do not wait."
)
@codec_option
@bootstrap_option
@json_option
def produce(
    *,
    topic: str,
    values: tuple[str, ...],
    key: str | None,
    key_separator: str | None,
    null_text: str | None,
    headers: tuple[tuple[str, str], ...],
    partition: int | None,
    acks: str,
    codec: str,
    bootstrap: tuple[Address, ...],
    as_json: bool,
) -> None:
    """Write records to TOPIC: the VALUEs, or each line of stdin when there are none.

    A topic that does not exist is created where the broker allows it (auto.create.topics.enable).

    \b
    Examples:
      inkless produce greetings 'hello world'
      inkless produce orders -k customer-7 '{"total": 12}' -H source=shop
      inkless produce orders --key-separator : < orders.txt
      tail -f app.log | inkless produce logs --codec zstd
    """
    rules = LineRules(_bytes(key_separator), _bytes(null_text))
    _check_usage(values, key=key, key_separator=key_separator)
    destination = Destination(topic, partition, tuple((name, text.encode()) for name, text in headers))
    settings = ProducerSettings(acks=ACKS[acks], idempotent=acks == "all", codec=Codec[codec.upper()])
    source = given_values(values, key, rules) if values else stdin_records(rules)

    acknowledged = run(send_all(bootstrap, settings, destination, source))
    if acknowledged.first_error is not None:
        raise CommandFailed(_describe_loss(acknowledged))
    if as_json:
        print_json(acknowledged.as_json(topic))
    else:
        click.echo(acknowledged.as_text(topic), err=True)


async def send_all(
    bootstrap: tuple[Address, ...],
    settings: ProducerSettings,
    destination: Destination,
    source: AsyncIterator[list[KeyAndValue]],
) -> Acknowledgements:
    """Sends until the source ends or a record is refused, and waits for what is under way."""
    acknowledged = Acknowledgements()
    clock, entropy = SystemClock(), SystemEntropy()
    cluster_settings = dataclasses.replace(CLUSTER_SETTINGS, allow_auto_topic_creation=True)
    async with (
        open_cluster(bootstrap, cluster_settings) as cluster,
        Producer(cluster, clock=clock, entropy=entropy, settings=settings) as producer,
    ):
        try:
            async for records in source:
                for key, value in records:
                    await producer.post(
                        destination.topic,
                        value,
                        key=key,
                        headers=destination.headers,
                        partition=destination.partition,
                        on_delivered=acknowledged.take,
                    )
                if acknowledged.first_error is not None:
                    break
        except CommandFailed:
            # What came before a line that cannot be sent is stored, as it would be from a slower source.
            await producer.flush()
            raise
    return acknowledged


async def given_values(
    values: Sequence[str], key: str | None, rules: LineRules
) -> AsyncIterator[list[KeyAndValue]]:
    yield [(_bytes(key), rules.nullable(value.encode(errors="surrogateescape"))) for value in values]


async def stdin_records(rules: LineRules) -> AsyncIterator[list[KeyAndValue]]:
    stdin = sys.stdin.buffer
    if stdin.isatty():
        click.echo("one record per line; Ctrl-D ends the input", err=True)
    taken = 0
    records: list[KeyAndValue] = []
    try:
        async for lines in read_lines(stdin):
            records = []
            for line in lines:
                records.append(rules.parse(line))
            yield records
            taken += len(records)
            records = []
    except ValueError as error:
        yield records
        raise CommandFailed(
            f"line {taken + len(records) + 1} of the input cannot be sent: {error}"
        ) from error
    except OSError as error:
        raise CommandFailed(f"stdin cannot be read: {error.strerror}") from error


def _check_usage(values: tuple[str, ...], *, key: str | None, key_separator: str | None) -> None:
    if values and key_separator is not None:
        raise click.UsageError("--key-separator is for lines of stdin; give VALUEs their key with --key.")
    if not values and key is not None:
        raise click.UsageError("--key is for VALUEs; lines of stdin get theirs with --key-separator.")


def _describe_loss(acknowledged: Acknowledgements) -> str:
    error = acknowledged.first_error
    why = describe_error(error) if isinstance(error, InklessError) else str(error)
    return f"{why} (after {format_count(acknowledged.stored, 'record')} that were stored)"


def _bytes(text: str | None) -> bytes | None:
    """Arguments come as text in which bytes that are not UTF-8 were escaped; they go out as they came."""
    return None if text is None else text.encode(errors="surrogateescape")

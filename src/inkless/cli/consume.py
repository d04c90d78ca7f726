"""`inkless consume`: the records of a topic on stdout."""

import sys
from dataclasses import dataclass
from typing import BinaryIO

import click

from inkless.cli.options import bootstrap_option
from inkless.cli.pipe_watch import ended_by_reader
from inkless.cli.record_format import PLACEHOLDERS, ConsumedRecord, RecordWriter, compile_format, write_json
from inkless.cli.session import leave_quietly, open_cluster, run
from inkless.cli.start_position import (
    FromBeginning,
    FromEnd,
    FromOffset,
    FromTimestamp,
    StartPosition,
    choose_start,
)
from inkless.client.admin import Admin
from inkless.client.cluster import Cluster
from inkless.client.consumer import FROM_EARLIEST, FROM_LATEST, Consumer, ConsumerSettings, Start
from inkless.client.offsets import EARLIEST, LATEST
from inkless.client.topology import Address, TopicPartition
from inkless.clock import SystemClock
from inkless.errors import RequestError
from inkless.protocol.error_codes import ErrorCode
from inkless.records.record import Record

DEFAULT_FORMAT = r"{value}\n"


@dataclass(frozen=True, slots=True)
class Reading:
    """What to read, from where, and when to stop."""

    topic: str
    partitions: tuple[int, ...]
    start: StartPosition
    until_end: bool
    records_max: int | None


@click.command()
@click.argument("topic")
@click.option("--from-beginning", is_flag=True, help="Start with the oldest record.")
@click.option("--offset", type=int, help="Start at this offset; -N starts N records before the end.")
@click.option("--from-timestamp", metavar="TIME", help="Start at this time: milliseconds, or ISO 8601 (UTC).")
@click.option(
    "-p",
    "--partition",
    "partitions",
    type=click.IntRange(min=0),
    multiple=True,
    help="Read this partition only; may be repeated.",
)
@click.option("-n", "--max-messages", type=click.IntRange(min=1), help="Stop after so many records.")
@click.option("-e", "--exit-at-end", is_flag=True, help="Stop where the topic ended at the start.")
@click.option(
    "-f",
    "--format",
    "template",
    default=DEFAULT_FORMAT,
    show_default=True,
    help=f"How to print a record. Placeholders: {', '.join(PLACEHOLDERS)}, each in braces.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per record.")
@bootstrap_option
def consume(
    *,
    topic: str,
    from_beginning: bool,
    offset: int | None,
    from_timestamp: str | None,
    partitions: tuple[int, ...],
    max_messages: int | None,
    exit_at_end: bool,
    template: str,
    as_json: bool,
    bootstrap: tuple[Address, ...],
) -> None:
    """Print the records of TOPIC as they arrive, until Ctrl-C.

    \b
    Examples:
      inkless consume greetings --from-beginning --exit-at-end
      inkless consume orders --offset -10 --exit-at-end
      inkless consume orders --from-timestamp 2026-01-31T12:00:00Z --json
      inkless consume orders -f '{partition}@{offset} {time} {key}={value}\\n'
    """
    try:
        start = choose_start(from_beginning=from_beginning, offset=offset, from_timestamp=from_timestamp)
        write = write_json if as_json else compile_format(template)
    except ValueError as error:
        raise click.UsageError(f"{error}.") from error
    reading = Reading(topic, partitions, start, until_end=exit_at_end, records_max=max_messages)
    try:
        run(print_records(bootstrap, reading, write, sys.stdout.buffer))
    except KeyboardInterrupt:
        # The usual way to end a command that has no end of its own.
        return
    except BrokenPipeError:
        leave_quietly()


async def print_records(
    bootstrap: tuple[Address, ...], reading: Reading, write: RecordWriter, output: BinaryIO
) -> None:
    """Writes run by run, so that a slow reader of our output holds back the fetching, and not the memory."""
    left = reading.records_max
    clock = SystemClock()
    settings = ConsumerSettings(until_end=reading.until_end)
    async with ended_by_reader(output, clock), open_cluster(bootstrap) as cluster:
        starts = await find_starts(cluster, reading)
        async with Consumer(cluster, starts, clock=clock, settings=settings) as consumer:
            async for fetched in consumer.runs():
                records = fetched.records()[:left]
                output.write(b"".join(write(located(fetched.place, record)) for record in records))
                output.flush()
                if left is not None:
                    left -= len(records)
                    if left == 0:
                        return


def located(place: TopicPartition, record: Record) -> ConsumedRecord:
    return ConsumedRecord(
        topic=place.topic,
        partition=place.partition,
        offset=record.offset,
        timestamp_ms=record.timestamp_ms,
        key=record.key,
        value=record.value,
        headers=record.headers,
    )


async def find_starts(cluster: Cluster, reading: Reading) -> dict[TopicPartition, Start]:
    """Where to begin in each partition; RequestError when the topic or one of the partitions is not there."""
    admin = Admin(cluster)
    (topic,) = await admin.describe_topics([reading.topic])
    for index in reading.partitions:
        if index not in topic.partitions:
            raise RequestError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"{topic.name} has no partition {index}; its partitions are 0 to {len(topic.partitions) - 1}",
            )
    places = [TopicPartition(topic.name, index) for index in reading.partitions or topic.partitions]
    match reading.start:
        case FromBeginning():
            return dict.fromkeys(places, FROM_EARLIEST)
        case FromOffset(offset):
            return dict.fromkeys(places, Start(offset=offset))
        case FromTimestamp(timestamp_ms):
            return dict.fromkeys(places, Start(timestamp_ms=timestamp_ms))
        case FromEnd(0):
            return dict.fromkeys(places, FROM_LATEST)
        case FromEnd(back):
            earliest = await admin.list_offsets(dict.fromkeys(places, EARLIEST))
            latest = await admin.list_offsets(dict.fromkeys(places, LATEST))
            return {
                place: Start(offset=max(earliest[place].offset, latest[place].offset - back))
                for place in places
            }

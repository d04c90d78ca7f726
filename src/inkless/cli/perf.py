"""`inkless perf`: how much a cluster takes and gives, and how long it lets one wait."""

import click

from inkless.cli.consume import Reading, find_starts
from inkless.cli.load import ProduceLoad, run_consume_load, run_produce_load
from inkless.cli.options import bootstrap_option, codec_option, json_option
from inkless.cli.perf_report import LoadResult
from inkless.cli.produce import ACKS
from inkless.cli.session import CommandFailed, describe_error, open_cluster, run
from inkless.cli.start_position import FromBeginning, FromEnd
from inkless.cli.tables import format_count, print_json
from inkless.client.admin import Admin, TopicSpec
from inkless.client.cluster import Cluster
from inkless.client.sender import ProducerSettings
from inkless.client.topology import Address
from inkless.errors import InklessError, RequestError
from inkless.protocol.error_codes import ErrorCode
from inkless.records.compress import Codec


@click.group()
def perf() -> None:
    """Measure throughput and latency of a cluster with the client built in.

    One Python process measures: its own speed is a limit too, so run several for more load.

    \b
    Examples:
      inkless perf produce load --partitions 6 --records 1000000 --record-size 1000
      inkless perf produce load --rate 5000 --records 50000
      inkless perf consume load
    """


@perf.command()
@click.argument("topic")
@click.option(
    "-n", "--records", type=click.IntRange(min=1), default=100_000, show_default=True, help="How many."
)
@click.option(
    "-s", "--record-size", type=click.IntRange(min=1), default=1000, show_default=True, help="Bytes each."
)
@click.option(
    "-r", "--rate", type=click.FloatRange(min=0), default=0, help="Records per second.  [default: no limit]"
)
@click.option(
    "-p", "--partitions", type=click.IntRange(min=1), help="Create the topic with so many, if it is missing."
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
    records: int,
    record_size: int,
    rate: float,
    partitions: int | None,
    acks: str,
    codec: str,
    bootstrap: tuple[Address, ...],
    as_json: bool,
) -> None:
    """Write records to TOPIC; latency is from when a record was due to its acknowledgement.

    \b
    Examples:
      inkless perf produce load --partitions 6
      inkless perf produce load --rate 2000 --record-size 200 --codec lz4 --json
    """
    settings = ProducerSettings(acks=ACKS[acks], idempotent=acks == "all", codec=Codec[codec.upper()])
    load = ProduceLoad(topic, records=records, record_bytes=record_size, records_per_s=rate)

    async def command() -> tuple[LoadResult, Exception | None]:
        async with open_cluster(bootstrap) as cluster:
            await prepare_topic(cluster, topic, partitions)
            return await run_produce_load(cluster, load, settings)

    result, first_error = run(command())
    print_result(result, as_json=as_json)
    if first_error is not None:
        why = describe_error(first_error) if isinstance(first_error, InklessError) else str(first_error)
        raise CommandFailed(f"{format_count(result.failed, 'record')} failed, the first with: {why}")


@perf.command()
@click.argument("topic")
@click.option(
    "-n", "--records", type=click.IntRange(min=1), help="Stop after so many.  [default: at the end]"
)
@click.option("--follow", is_flag=True, help="Start at the end and measure how old records are on arrival.")
@bootstrap_option
@json_option
def consume(
    *, topic: str, records: int | None, follow: bool, bootstrap: tuple[Address, ...], as_json: bool
) -> None:
    """Read TOPIC from its beginning; latency is the wait for each fetch.

    With --follow, latency is end to end: from a record's timestamp to its arrival.

    \b
    Examples:
      inkless perf consume load
      inkless perf consume load --follow --records 10000 --json
    """
    if follow and records is None:
        raise click.UsageError("--follow has no end of its own; give --records.")
    start = FromEnd() if follow else FromBeginning()
    reading = Reading(topic, (), start, until_end=not follow, records_max=records)

    async def command() -> LoadResult:
        async with open_cluster(bootstrap) as cluster:
            starts = await find_starts(cluster, reading)
            return await run_consume_load(cluster, starts, records_max=records, follow=follow)

    print_result(run(command()), as_json=as_json)


async def prepare_topic(cluster: Cluster, topic: str, partitions: int | None) -> None:
    """Makes the topic when asked to; otherwise it must be there, so that a typing error measures nothing."""
    admin = Admin(cluster)
    if partitions is None:
        await admin.describe_topics([topic])
        return
    try:
        await admin.create_topic(TopicSpec(topic, partition_count=partitions))
    except RequestError as error:
        if error.code != ErrorCode.TOPIC_ALREADY_EXISTS:
            raise


def print_result(result: LoadResult, *, as_json: bool) -> None:
    if as_json:
        print_json(result.as_json())
    else:
        click.echo(result.as_text())

"""`inkless topics`: make topics, look at them, change them, delete them."""

from collections.abc import Sequence

import click

from inkless.cli.config_report import choose_entries
from inkless.cli.configs import refuse_contradictions
from inkless.cli.options import bootstrap_option, config_option, json_option, reset_option
from inkless.cli.session import open_cluster, run
from inkless.cli.tables import format_table, print_json
from inkless.cli.topic_report import OffsetRange, TopicReport, format_topic_id, topic_json
from inkless.client.admin import CLUSTER_DEFAULT, Admin, Resource, ResourceType, TopicSpec
from inkless.client.offsets import EARLIEST, LATEST
from inkless.client.topology import Address, TopicPartition, TopicView
from inkless.errors import RequestError
from inkless.protocol.error_codes import ErrorCode

Bootstrap = tuple[Address, ...]
UNKNOWN_TOPIC = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})

names_argument = click.argument("names", metavar="NAME...", nargs=-1, required=True)


@click.group()
def topics() -> None:
    """Create, list, describe, alter and delete topics.

    \b
    Examples:
      inkless topics create orders --partitions 3 -c retention.ms=86400000
      inkless topics list
      inkless topics describe orders
      inkless topics alter orders --partitions 6 -c max.message.bytes=2097152
      inkless topics delete orders --if-exists
    """


@topics.command()
@names_argument
@click.option(
    "-p",
    "--partitions",
    type=click.IntRange(min=1),
    help="How many.  [default: num.partitions of the broker]",
)
@config_option
@click.option("--if-not-exists", is_flag=True, help="Leave alone what is there already.")
@bootstrap_option
@json_option
def create(
    *,
    names: tuple[str, ...],
    partitions: int | None,
    configs: tuple[tuple[str, str], ...],
    if_not_exists: bool,
    bootstrap: Bootstrap,
    as_json: bool,
) -> None:
    """Create topics, all alike.

    \b
    Examples:
      inkless topics create orders
      inkless topics create orders payments -p 12 -c cleanup.policy=compact
    """

    async def command() -> dict[str, str]:
        done = {}
        async with open_cluster(bootstrap) as cluster:
            for name in names:
                spec = TopicSpec(name, partition_count=partitions or CLUSTER_DEFAULT, configs=dict(configs))
                try:
                    await Admin(cluster).create_topic(spec)
                    done[name] = "created"
                except RequestError as error:
                    if not if_not_exists or error.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                        raise
                    done[name] = "exists"
        return done

    print_done(run(command()), as_json=as_json)


@topics.command(name="list")
@bootstrap_option
@json_option
def list_topics(*, bootstrap: Bootstrap, as_json: bool) -> None:
    """List all topics.

    \b
    Example:
      inkless topics list --json
    """

    async def command() -> list[TopicView]:
        async with open_cluster(bootstrap) as cluster:
            return await Admin(cluster).list_topics()

    found = run(command())
    if as_json:
        print_json([{**topic_json(topic), "partitions": len(topic.partitions)} for topic in found])
    elif found:
        rows = [[topic.name, len(topic.partitions), format_topic_id(topic)] for topic in found]
        click.echo(format_table(["topic", "partitions", "id"], rows))
    else:
        click.echo("no topics; 'inkless topics create NAME' makes one", err=True)


@topics.command()
@names_argument
@click.option("--all", "with_defaults", is_flag=True, help="Show configs that have their default as well.")
@bootstrap_option
@json_option
def describe(*, names: tuple[str, ...], with_defaults: bool, bootstrap: Bootstrap, as_json: bool) -> None:
    """Show topics with their partitions, offsets and configs.

    \b
    Examples:
      inkless topics describe orders
      inkless topics describe orders payments --json
    """

    async def command() -> list[TopicReport]:
        async with open_cluster(bootstrap) as cluster:
            return await load_reports(Admin(cluster), names, with_defaults=with_defaults)

    reports = run(command())
    if as_json:
        print_json([report.as_json() for report in reports])
    else:
        click.echo("\n\n".join(report.as_text() for report in reports))


@topics.command()
@click.argument("name")
@click.option("-p", "--partitions", type=click.IntRange(min=1), help="The new total; it can only grow.")
@config_option
@reset_option
@bootstrap_option
@json_option
def alter(
    *,
    name: str,
    partitions: int | None,
    configs: tuple[tuple[str, str], ...],
    resets: tuple[str, ...],
    bootstrap: Bootstrap,
    as_json: bool,
) -> None:
    """Add partitions to a topic, or change its configs.

    Keys go to other partitions than before once there are more of them.

    \b
    Examples:
      inkless topics alter orders --partitions 6
      inkless topics alter orders -c retention.ms=3600000 -d cleanup.policy
    """
    assign = dict(configs)
    refuse_contradictions(assign, resets)
    if partitions is None and not assign and not resets:
        raise click.UsageError("nothing to change; give --partitions, -c key=value or -d key.")

    async def command() -> None:
        async with open_cluster(bootstrap) as cluster:
            admin = Admin(cluster)
            if assign or resets:
                await admin.alter_configs(Resource(ResourceType.TOPIC, name), assign=assign, reset=resets)
            if partitions is not None:
                await admin.add_partitions(name, total_count=partitions)

    run(command())
    print_done({name: "altered"}, as_json=as_json)


@topics.command()
@names_argument
@click.option("--if-exists", is_flag=True, help="Accept that a topic is not there.")
@bootstrap_option
@json_option
def delete(*, names: tuple[str, ...], if_exists: bool, bootstrap: Bootstrap, as_json: bool) -> None:
    """Delete topics and all their records, for good.

    \b
    Example:
      inkless topics delete orders payments --if-exists
    """

    async def command() -> dict[str, str]:
        done = {}
        async with open_cluster(bootstrap) as cluster:
            for name in names:
                try:
                    await Admin(cluster).delete_topic(name)
                    done[name] = "deleted"
                except RequestError as error:
                    if not if_exists or error.code not in UNKNOWN_TOPIC:
                        raise
                    done[name] = "unknown"
        return done

    print_done(run(command()), as_json=as_json)


async def load_reports(admin: Admin, names: Sequence[str], *, with_defaults: bool) -> list[TopicReport]:
    """Asks for the offsets of all topics together and for the configs of each."""
    found = await admin.describe_topics(names)
    # A partition without a leader has nobody to ask about its offsets; the others are shown all the same.
    places = [
        TopicPartition(topic.name, part.index)
        for topic in found
        for part in topic.partitions.values()
        if part.leader_id >= 0
    ]
    earliest = await admin.list_offsets(dict.fromkeys(places, EARLIEST))
    latest = await admin.list_offsets(dict.fromkeys(places, LATEST))
    bounds = {place: OffsetRange(earliest[place].offset, latest[place].offset) for place in places}
    return [
        TopicReport(
            topic=topic,
            offsets={place.partition: bounds[place] for place in places if place.topic == topic.name},
            configs=choose_entries(
                (await admin.describe_configs(Resource(ResourceType.TOPIC, topic.name))).values(),
                with_defaults=with_defaults,
            ),
        )
        for topic in found
    ]


def print_done(done: dict[str, str], *, as_json: bool) -> None:
    """What became of each topic: JSON to stdout, words for a person to stderr."""
    if as_json:
        print_json(done)
        return
    for name, outcome in done.items():
        click.echo(f"{outcome} {name}", err=True)

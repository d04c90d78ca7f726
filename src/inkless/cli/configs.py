"""`inkless configs`: settings of topics and brokers while they run."""

import click

from inkless.cli.config_report import choose_entries, config_json, config_table
from inkless.cli.options import bootstrap_option, config_option, json_option, reset_option
from inkless.cli.session import open_cluster, run
from inkless.cli.tables import format_count, print_json
from inkless.client.admin import Admin, ConfigEntry, Resource, ResourceType
from inkless.client.topology import Address


def resource_option(command: click.decorators.FC) -> click.decorators.FC:
    """`--topic NAME` or `--broker ID`, one of them."""
    command = click.option(
        "--broker", metavar="ID", help="A broker by its id, or 'all' for the default of all."
    )(command)
    return click.option("--topic", metavar="NAME", help="A topic by its name.")(command)


@click.group()
def configs() -> None:
    """Describe and alter configs of topics and brokers.

    \b
    Examples:
      inkless configs describe --topic orders
      inkless configs alter --topic orders -c retention.ms=3600000
      inkless configs describe --broker 0 --all
    """


@configs.command()
@resource_option
@click.option("--all", "with_defaults", is_flag=True, help="Show defaults as well.")
@bootstrap_option
@json_option
def describe(
    *,
    topic: str | None,
    broker: str | None,
    with_defaults: bool,
    bootstrap: tuple[Address, ...],
    as_json: bool,
) -> None:
    """Show what is set on a topic or a broker.

    \b
    Examples:
      inkless configs describe --topic orders --all
      inkless configs describe --broker 0 --json
    """
    resource = choose_resource(topic, broker)

    async def command() -> dict[str, ConfigEntry]:
        async with open_cluster(bootstrap) as cluster:
            return await Admin(cluster).describe_configs(resource)

    entries = choose_entries(run(command()).values(), with_defaults=with_defaults)
    if as_json:
        print_json(config_json(entries))
    elif entries:
        click.echo(config_table(entries))
    else:
        click.echo("nothing set; --all shows the defaults", err=True)


@configs.command()
@resource_option
@config_option
@reset_option
@bootstrap_option
@json_option
def alter(
    *,
    topic: str | None,
    broker: str | None,
    configs: tuple[tuple[str, str], ...],
    resets: tuple[str, ...],
    bootstrap: tuple[Address, ...],
    as_json: bool,
) -> None:
    """Set configs, or return them to their default; all others stay as they are.

    \b
    Examples:
      inkless configs alter --topic orders -c retention.ms=3600000 -d cleanup.policy
      inkless configs alter --broker all -c log.retention.ms=86400000
    """
    resource = choose_resource(topic, broker)
    assign = dict(configs)
    refuse_contradictions(assign, resets)
    if not assign and not resets:
        raise click.UsageError("nothing to change; give -c key=value or -d key.")

    async def command() -> None:
        async with open_cluster(bootstrap) as cluster:
            await Admin(cluster).alter_configs(resource, assign=assign, reset=resets)

    run(command())
    if as_json:
        print_json(
            {
                "resource": resource.kind.name.lower(),
                "name": resource.name,
                "set": assign,
                "reset": list(resets),
            }
        )
    else:
        click.echo(f"changed {format_count(len(assign) + len(resets), 'config')}", err=True)


def choose_resource(topic: str | None, broker: str | None) -> Resource:
    if (topic is None) == (broker is None):
        raise click.UsageError("give either --topic NAME or --broker ID.")
    if topic is not None:
        return Resource(ResourceType.TOPIC, topic)
    if broker == "all":
        return Resource(ResourceType.BROKER, "")
    if not (broker and broker.isascii() and broker.isdigit()):
        raise click.BadParameter(
            f"'{broker}' is not a broker id; 'inkless brokers' lists them.", param_hint="--broker"
        )
    return Resource(ResourceType.BROKER, broker)


def refuse_contradictions(assign: dict[str, str], resets: tuple[str, ...]) -> None:
    """Setting and resetting one key in one command would depend on an order that nobody promised."""
    if both := sorted(set(assign) & set(resets)):
        raise click.UsageError(f"{', '.join(both)} cannot be set and reset at once.")

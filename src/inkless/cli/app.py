"""The root command: a table of commands, each loaded when it is called."""

import difflib
from importlib import import_module
from typing import NamedTuple

import click

from inkless import __version__


class CommandEntry(NamedTuple):
    """Where a command is defined. The summary stands here so that the help needs no command module."""

    module: str
    attribute: str
    summary: str


COMMANDS = {
    "serve": CommandEntry("inkless.cli.serve", "serve", "Run a broker in the foreground."),
    "cluster": CommandEntry(
        "inkless.cli.cluster", "cluster", "Run several brokers that share their data, on this machine."
    ),
    "topics": CommandEntry(
        "inkless.cli.topics", "topics", "Create, list, describe, alter and delete topics."
    ),
    "configs": CommandEntry(
        "inkless.cli.configs", "configs", "Describe and alter configs of topics and brokers."
    ),
    "brokers": CommandEntry("inkless.cli.status", "brokers", "List the brokers of the cluster."),
    "status": CommandEntry(
        "inkless.cli.status", "status", "Show whether a cluster answers, and what is in it."
    ),
    "produce": CommandEntry(
        "inkless.cli.produce", "produce", "Write records from arguments or stdin to a topic."
    ),
    "consume": CommandEntry("inkless.cli.consume", "consume", "Print the records of a topic."),
    "perf": CommandEntry("inkless.cli.perf", "perf", "Measure throughput and latency of a cluster."),
}


class LazyGroup(click.Group):
    """A group whose commands come from `COMMANDS`, in that order."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = getattr(import_module(entry.module), entry.attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{entry.module}.{entry.attribute} is not a command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean '{near[0]}'?" if near else "'inkless --help' lists all commands."
            ctx.fail(f"no such command '{args[0]}'; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, "-V", "--version", prog_name="inkless", message="%(prog)s %(version)s")
def inkless() -> None:
    """Inkless: a Kafka-compatible broker that keeps its data in object storage.

    \b
    Start a broker, write to it and read back:
      inkless serve
      inkless produce greetings 'hello world'
      inkless consume greetings --from-beginning --exit-at-end

    Every command has its own --help with examples.
    """

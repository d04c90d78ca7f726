"""`inkless cluster`: several brokers on one machine and one control plane, for trying and for tests."""

import asyncio
import signal
import socket
from collections.abc import Sequence
from pathlib import Path

import click

from inkless.cli.child_broker import ChildBroker
from inkless.cli.child_supervision import Patience, StopRequest, Supervision
from inkless.cli.cluster_plan import HOST, PORT_MAX, PlannedBroker, parse_zones, plan_brokers
from inkless.cli.options import parse_key_value
from inkless.cli.serve import data_place, this_command
from inkless.cli.session import BadConfiguration, CommandFailed, run, translated_errors
from inkless.cli.tables import format_table
from inkless.clock import SystemClock
from inkless.settings import Settings, load_settings

_BROKERS_MAX = 64
_STOP_MARGIN_S = 15.0
"""Beyond the time a broker gives its clients: for what its storage takes."""


@click.command()
@click.option(
    "-n",
    "--brokers",
    "broker_count",
    type=click.IntRange(1, _BROKERS_MAX),
    default=3,
    show_default=True,
    help="How many to start.",
)
@click.option(
    "--zones",
    type=parse_zones,
    metavar="A,B,…",
    default="a,b,c",
    show_default=True,
    help="Availability zones; brokers are dealt to them in turn.",
)
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("inkless-data"),
    show_default=True,
    help="Where all brokers keep objects and the control plane.",
)
@click.option(
    "--base-port",
    type=click.IntRange(1, PORT_MAX),
    default=9092,
    show_default=True,
    help="Port of the first broker; the others follow.",
)
@click.option(
    "-o",
    "--override",
    "overrides",
    type=parse_key_value,
    metavar="KEY=VALUE",
    multiple=True,
    help="Set one key for all brokers.",
)
@click.option("--restart", is_flag=True, help="Start a broker again when it ends.")
def cluster(
    *,
    broker_count: int,
    zones: tuple[str, ...],
    data_dir: Path,
    base_port: int,
    overrides: tuple[tuple[str, str], ...],
    restart: bool,
) -> None:
    """Run several brokers that share their data, until SIGINT or SIGTERM.

    Each is a process of its own, as 'inkless serve' would start it; the lines of its log begin with its
    number. A second Ctrl-C kills what has not stopped yet.

    \b
    Examples:
      inkless cluster
      inkless cluster --brokers 5 --zones a,b --base-port 19092
      inkless cluster --data-dir /tmp/trial -o inkless.broker.lease.ms=2000 --restart
    """
    planned = plan_brokers(
        broker_count,
        zones=zones,
        data_dir=str(data_dir),
        base_port=base_port,
        overrides=dict(overrides),
    )
    settings = _checked_settings(planned[0])
    check_ports_are_free(planned)
    run(_supervise(planned, settings, restart=restart))


def _checked_settings(planned: PlannedBroker) -> Settings:
    """Said once here, instead of by every broker."""
    with translated_errors():
        loaded = load_settings(None, planned.options)
    for unknown in loaded.unknown:
        click.echo(f"warning: {unknown}", err=True)
    if loaded.settings.storage.url.startswith("memory:"):
        raise BadConfiguration(
            "inkless.storage.url: every broker has a memory of its own; a cluster needs a folder or an "
            "object store that all of them reach"
        )
    return loaded.settings


def check_ports_are_free(planned: Sequence[PlannedBroker]) -> None:
    """Before anything is started; CommandFailed with the way around."""
    for broker in planned:
        try:
            socket.create_server((HOST, broker.port)).close()
        except OSError as error:
            raise CommandFailed(
                f"cannot listen on {broker.address} ({error.strerror}); choose other ports with --base-port"
            ) from error


async def _supervise(planned: Sequence[PlannedBroker], settings: Settings, *, restart: bool) -> None:
    def say(line: str) -> None:
        click.echo(line, err=True)

    stop = StopRequest()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.repeat)
    children = [ChildBroker(each, say) for each in planned]
    supervision = Supervision(
        children,
        stop=stop,
        restart=restart,
        patience=Patience(stop_s=settings.server.shutdown_timeout_ms / 1000 + _STOP_MARGIN_S),
        say=say,
        clock=SystemClock(),
    )
    await supervision.run(on_ready=lambda: say(banner(children, data_place(settings), this_command())))


def banner(children: Sequence[ChildBroker], data: str, command: str) -> str:
    """The lines printed once all brokers accept connections."""
    table = format_table(
        ["broker", "zone", "address", "process"],
        [[each.planned.node_id, each.planned.zone, each.planned.address, each.pid] for each in children],
    )
    bootstrap = ",".join(child.planned.address for child in children[:3])
    return "\n".join(
        [
            f"the cluster is ready: {len(children)} of {len(children)} brokers",
            *(f"  {line}" for line in table.splitlines()),
            f"  data  {data}",
            f"  try   {command} produce -b {bootstrap} greetings 'hello world'",
            f"        {command} consume -b {bootstrap} greetings --from-beginning",
            "  stop  Ctrl-C",
        ]
    )

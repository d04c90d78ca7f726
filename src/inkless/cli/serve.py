"""`inkless serve`: one broker in the foreground."""

import errno
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from inkless.cli.options import parse_key_value
from inkless.cli.session import CommandFailed, run, translated_errors

if TYPE_CHECKING:
    from inkless.compose import RunningBroker
    from inkless.settings import Settings


@click.command()
@click.option(
    "-c",
    "--config",
    "config_path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Properties file, as Kafka's server.properties.",
)
@click.option(
    "-o",
    "--override",
    "overrides",
    type=parse_key_value,
    metavar="KEY=VALUE",
    multiple=True,
    help="Set one key; wins over the file.",
)
def serve(*, config_path: Path | None, overrides: tuple[tuple[str, str], ...]) -> None:
    """Run a broker until it gets SIGINT or SIGTERM.

    Without arguments it listens on 127.0.0.1:9092 and keeps everything under ./inkless-data.

    \b
    Examples:
      inkless serve
      inkless serve -o inkless.data.dir=/var/lib/inkless -o num.partitions=3
      inkless serve -o listeners=PLAINTEXT://127.0.0.1:9093
      inkless serve -c server.properties -o inkless.storage.url=s3://bucket/prefix
    """
    from inkless.compose import serve as serve_until_stopped
    from inkless.observability.logs import configure_logging
    from inkless.settings import load_settings

    with translated_errors():
        loaded = load_settings(config_path, dict(overrides))
    for unknown in loaded.unknown:
        click.echo(f"warning: {unknown}", err=True)
    settings = loaded.settings
    configure_logging(level=settings.log.level, line_format=settings.log.format)
    try:
        run(serve_until_stopped(settings, on_ready=lambda broker: print_banner(broker, settings)))
    except OSError as error:
        raise CommandFailed(describe_os_error(error, settings)) from error


def print_banner(broker: "RunningBroker", settings: "Settings") -> None:
    """What a newcomer needs next; on stderr, as everything that is no answer."""
    text = banner(
        broker.bootstrap, cluster_id=broker.cluster_id, data=data_place(settings), command=this_command()
    )
    click.echo(text, err=True)


def this_command() -> str:
    """How the user calls us: by name where the shell finds it, else as it was called now."""
    if shutil.which("inkless"):
        return "inkless"
    called = Path(sys.argv[0]).absolute()
    return str(called.relative_to(Path.cwd()) if called.is_relative_to(Path.cwd()) else called)


def data_place(settings: "Settings") -> str:
    """Where the records go: the data folder, or the object store that was configured in its place."""
    url = settings.storage.url
    return str(settings.data_dir) if url.startswith("file:") else url


def banner(bootstrap: str, *, cluster_id: str, data: str, command: str = "inkless") -> str:
    """The lines printed once the broker accepts connections."""
    elsewhere = "" if bootstrap == "127.0.0.1:9092" else f" -b {bootstrap}"
    return "\n".join(
        [
            f"inkless is ready on {bootstrap}",
            f"  data     {data}",
            f"  cluster  {cluster_id}",
            f"  try      {command} produce{elsewhere} greetings 'hello world'",
            f"           {command} consume{elsewhere} greetings --from-beginning",
            "  stop     Ctrl-C",
        ]
    )


def describe_os_error(error: OSError, settings: "Settings") -> str:
    """The machine said no while starting: which resource, and the way around it."""
    listener = settings.server.listeners[0]
    address = f"{listener.host}:{listener.port}"
    match error.errno:
        case errno.EADDRINUSE:
            return (
                f"{address} is in use by another process; stop it, or choose another port with "
                f"-o listeners={listener.name}://{listener.host}:{listener.port + 1}"
            )
        case errno.EADDRNOTAVAIL:
            return f"{listener.host} is not an address of this machine; set one with -o listeners=…"
        case errno.EACCES | errno.EPERM if error.filename is None:
            return f"not allowed to listen on {address}; ports below 1024 need privileges"
        case errno.EACCES | errno.EPERM | errno.ENOSPC | errno.EROFS | errno.ENOTDIR:
            place = error.filename or settings.data_dir
            return f"cannot write to {place} ({error.strerror}); set another place with -o inkless.data.dir=…"
        case _:
            return f"{error}; the broker has stopped"

"""What flags mean when several commands share them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from inkless.client.topology import Address

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"

Command = TypeVar("Command", bound=Callable[..., Any])

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def parse_key_value(text: str) -> tuple[str, str]:
    """`key=value`, split at the first equals sign; the value may be empty."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise click.BadParameter(f"'{text}' is not of the form key=value.")
    return key.strip(), value


def parse_addresses(text: str) -> "tuple[Address, ...]":
    """`host:port[,host:port…]`, read as the client reads it."""
    from inkless.client.topology import parse_bootstrap
    from inkless.errors import ConfigurationError

    try:
        return parse_bootstrap(text)
    except ConfigurationError as error:
        raise click.BadParameter(f"{error}.") from error


def bootstrap_option(command: Command) -> Command:
    """`-b/--bootstrap`: which cluster to talk to."""
    return click.option(
        "-b",
        "--bootstrap",
        type=parse_addresses,
        metavar="HOST:PORT,…",
        default=DEFAULT_BOOTSTRAP,
        envvar="INKLESS_BOOTSTRAP",
        show_default=True,
        show_envvar=True,
        help="Brokers to ask first.",
    )(command)


def json_option(command: Command) -> Command:
    """`--json`: the answer for programs instead of for people."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def codec_option(command: Command) -> Command:
    """`--codec`: how batches are compressed."""
    return click.option(
        "--codec",
        type=click.Choice(CODECS),
        default="none",
        show_default=True,
        help="Compression of the batches.",
    )(command)


def config_option(command: Command) -> Command:
    """`-c key=value`, any number of times."""
    return click.option(
        "-c",
        "--config",
        "configs",
        type=parse_key_value,
        metavar="KEY=VALUE",
        multiple=True,
        help="Set a config; may be repeated.",
    )(command)


def reset_option(command: Command) -> Command:
    """`-d key`, any number of times."""
    return click.option(
        "-d",
        "--delete-config",
        "resets",
        metavar="KEY",
        multiple=True,
        help="Return a config to its default; may be repeated.",
    )(command)

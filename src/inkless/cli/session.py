"""Runs a command's coroutine to its end and turns what it raises into one line and an exit code."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

import click
import uvloop

from inkless.client.cluster import Cluster, ClusterSettings
from inkless.client.connection import ConnectionSettings
from inkless.client.topology import Address
from inkless.clock import SystemClock, SystemEntropy
from inkless.errors import (
    ConfigurationError,
    CorruptData,
    InklessError,
    MalformedBytes,
    RequestError,
    Unavailable,
)
from inkless.protocol.error_codes import ErrorCode

Result = TypeVar("Result")

CLUSTER_SETTINGS = ClusterSettings(
    operation_timeout_ms=15_000,
    connection=ConnectionSettings(client_id="inkless-cli", connect_timeout_ms=5_000),
)
"""Somebody is waiting at the prompt: they would rather see an error than wait as long as a service would."""

ADVICE = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "'inkless topics list' shows what exists",
    ErrorCode.UNKNOWN_TOPIC_ID: "it was deleted meanwhile; 'inkless topics list' shows what exists",
    ErrorCode.TOPIC_ALREADY_EXISTS: "choose another name, or pass --if-not-exists to accept that",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "names have 1 to 249 letters, digits, dots, dashes or underscores",
    ErrorCode.INVALID_PARTITIONS: "their number can only grow; 'inkless topics describe' shows it",
    ErrorCode.INVALID_REPLICATION_FACTOR: "leave it out: the storage keeps the copies",
    ErrorCode.MESSAGE_TOO_LARGE: "raise the topic's max.message.bytes, or send smaller records",
    ErrorCode.OFFSET_OUT_OF_RANGE: "'inkless topics describe' shows the earliest and the latest offset",
    ErrorCode.DUPLICATE_BROKER_REGISTRATION: (
        "another broker runs with this node id; stop it, or choose another with -o node.id=N"
    ),
    ErrorCode.UNSUPPORTED_VERSION: "the broker does not have what this command needs",
}


class CommandFailed(click.ClickException):
    """The command could not do what it was asked: one line, exit code 1."""

    exit_code = 1


class BadConfiguration(click.ClickException):
    """The command was given a setting that cannot be used: one line, exit code 2."""

    exit_code = 2


def run(command: Coroutine[Any, Any, Result]) -> Result:
    """The coroutine's result; errors raised on purpose leave as click exceptions."""
    with translated_errors(), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(command)


@contextlib.asynccontextmanager
async def open_cluster(
    bootstrap: tuple[Address, ...], settings: ClusterSettings = CLUSTER_SETTINGS
) -> AsyncIterator[Cluster]:
    """A cluster that has answered once, so that a wrong address fails at once instead of being retried."""
    async with Cluster(bootstrap, clock=SystemClock(), entropy=SystemEntropy(), settings=settings) as cluster:
        try:
            await cluster.refresh(())
        except Unavailable as error:
            advice = "Start a broker with 'inkless serve', or name another with --bootstrap."
            raise Unavailable(f"{error} {advice}") from error
        yield cluster


@contextlib.contextmanager
def translated_errors() -> Iterator[None]:
    """Errors of our tree become one line each; anything else is a bug and keeps its traceback."""
    try:
        yield
    except ConfigurationError as error:
        raise BadConfiguration(one_line(str(error))) from error
    except (InklessError, MalformedBytes) as error:
        raise CommandFailed(describe_error(error)) from error


def describe_error(error: InklessError | MalformedBytes) -> str:
    """What is wrong, and what to do next where that is known."""
    match error:
        case RequestError():
            return describe_code(error.code, error.message)
        case Unavailable():
            return one_line(str(error))
        case CorruptData():
            return one_line(f"the data fails its check: {error}")
        case MalformedBytes():
            return one_line(
                f"the answer is not in the Kafka protocol ({error}); is this the port of a broker?"
            )
        case _:
            return one_line(f"{type(error).__name__}: {error}")


def describe_code(code: ErrorCode, message: str | None) -> str:
    """An error code with the broker's own words, or with its name where it sent none."""
    what = message or code.name
    if code.name not in what:
        what = f"{what.rstrip('.')} ({code.name})"
    advice = ADVICE.get(code)
    return one_line(f"{what}; {advice}" if advice else what)


def one_line(text: str) -> str:
    return " ".join(text.split())


def leave_quietly() -> None:
    """After a broken pipe: whoever read us has seen enough.

    Python flushes stdout at exit and would complain about the same broken pipe again; pointing the descriptor
    to nowhere gives those last bytes a place to go.
    """
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

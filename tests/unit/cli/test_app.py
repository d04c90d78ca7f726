import socket
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from inkless import __version__
from inkless.cli.app import COMMANDS, inkless


def invoke(*arguments: str, **options: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(inkless, list(arguments), env={"INKLESS_BOOTSTRAP": ""}, **options)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def commands_below(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if not isinstance(command, click.Group):
        yield path
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from commands_below(found, (*path, name))


@pytest.fixture
def closed_port() -> int:
    """A port of this machine where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_the_help_lists_every_command_with_its_summary() -> None:
    code, out, _ = invoke("--help")
    assert code == 0
    for name, entry in COMMANDS.items():
        assert name in out
        assert entry.summary in out


@pytest.mark.parametrize("path", list(commands_below(inkless)), ids=" ".join)
def test_every_command_has_help_with_an_example(path: tuple[str, ...]) -> None:
    code, out, _ = invoke(*path, "--help")
    assert code == 0
    assert f"inkless {' '.join(path)}" in out.partition("Example")[2]


def test_the_help_loads_neither_the_client_nor_the_broker() -> None:
    program = (
        "import sys\n"
        "from inkless.cli.app import inkless\n"
        "inkless(['--help'], standalone_mode=False)\n"
        "loaded = [name for name in sys.modules if name.startswith(('inkless.', 'asyncio', 'uvloop'))]\n"
        "sys.exit(str(set(loaded) - {'inkless.cli', 'inkless.cli.app'} or ''))"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr.strip() == ""


def test_the_version_is_the_packages() -> None:
    assert invoke("--version") == (0, f"inkless {__version__}\n", "")


def test_a_mistyped_command_gets_a_hint_and_exit_code_2() -> None:
    code, _, err = invoke("topcis")
    assert code == 2
    assert "did you mean 'topics'?" in err


def test_an_unreachable_cluster_is_one_line_and_exit_code_1(closed_port: int) -> None:
    code, out, err = invoke("status", "-b", f"127.0.0.1:{closed_port}")
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert f"127.0.0.1:{closed_port}" in err
    assert "inkless serve" in err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("status", "-b", "host:port"), "host:port"),
        (("topics", "create"), "NAME..."),
        (("topics", "create", "t", "-p", "0"), "0 is not in the range"),
        (("topics", "create", "t", "-c", "retention.ms"), "key=value"),
        (("topics", "alter", "t"), "nothing to change"),
        (("topics", "alter", "t", "-c", "a=1", "-d", "a"), "cannot be set and reset at once"),
        (("configs", "describe"), "either --topic NAME or --broker ID"),
        (("configs", "describe", "--topic", "t", "--broker", "0"), "either --topic NAME or --broker ID"),
        (("configs", "describe", "--broker", "zero"), "'inkless brokers' lists them"),
        (("configs", "alter", "--topic", "t"), "nothing to change"),
    ],
)
def test_wrong_usage_says_what_is_wrong_with_exit_code_2(arguments: tuple[str, ...], complaint: str) -> None:
    code, out, err = invoke(*arguments)
    assert (code, out) == (2, "")
    assert complaint in err

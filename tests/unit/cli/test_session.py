import click
import pytest

from inkless.cli.session import BadConfiguration, CommandFailed, describe_error, run
from inkless.errors import ConfigurationError, InvariantViolated, MalformedBytes, RequestError, Unavailable
from inkless.protocol.error_codes import ErrorCode


async def failing(error: Exception) -> None:
    raise error


def test_a_result_comes_back() -> None:
    async def answer() -> int:
        return 42

    assert run(answer()) == 42


@pytest.mark.parametrize(
    ("error", "kind", "exit_code"),
    [
        (ConfigurationError("node.id = x is not allowed"), BadConfiguration, 2),
        (Unavailable("127.0.0.1:9092 refused the connection"), CommandFailed, 1),
        (RequestError(ErrorCode.TOPIC_ALREADY_EXISTS, "topic 'a' exists"), CommandFailed, 1),
        (MalformedBytes("HTTP?"), CommandFailed, 1),
        (InvariantViolated("impossible"), CommandFailed, 1),
    ],
)
def test_errors_of_our_tree_have_an_exit_code(
    error: Exception, kind: type[click.ClickException], exit_code: int
) -> None:
    with pytest.raises(kind) as caught:
        run(failing(error))
    assert caught.value.exit_code == exit_code
    assert "\n" not in caught.value.message


def test_a_bug_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        run(failing(ZeroDivisionError()))


def test_an_error_code_comes_with_the_brokers_words_and_advice() -> None:
    error = RequestError(ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'a' already exists.")
    assert describe_error(error) == (
        "Topic 'a' already exists (TOPIC_ALREADY_EXISTS); "
        "choose another name, or pass --if-not-exists to accept that"
    )


def test_a_bare_code_is_named_once() -> None:
    assert describe_error(RequestError(ErrorCode.NOT_CONTROLLER)) == "NOT_CONTROLLER"


def test_messages_of_several_lines_become_one() -> None:
    assert describe_error(Unavailable("no answer\n  from broker 1")) == "no answer from broker 1"

"""Error codes in responses, turned into the one exception that callers know."""

from inkless.errors import RequestError
from inkless.protocol.error_codes import ErrorCode


def known_code(code: int) -> ErrorCode:
    """The code, or UNKNOWN_SERVER_ERROR for one that is newer than this client."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def refusal(code: int, subject: str, message: str | None = None) -> RequestError:
    """The error of one part of a response; `subject` says of what, `message` is the broker's own text."""
    known = known_code(code)
    name = known.name if known == code else f"error code {code}"
    return RequestError(known, f"{subject}: {name}" + (f" ({message})" if message else ""))


def check(code: int, subject: str, message: str | None = None) -> None:
    """Raises `refusal` unless the code is NONE."""
    if code != ErrorCode.NONE:
        raise refusal(code, subject, message)

"""What a client is told of an error that we raised; the one place where errors become codes."""

import logging
from typing import NamedTuple

from inkless.errors import InklessError, RequestError, Unavailable
from inkless.protocol.error_codes import ErrorCode

log = logging.getLogger(__name__)

_TRY_AGAIN = "The control plane did not answer in time. Try again"


class Failure(NamedTuple):
    """An error code and the reason in words, where there is one."""

    code: ErrorCode
    message: str | None = None


def failure_of(error: InklessError, *, when_unavailable: ErrorCode = ErrorCode.REQUEST_TIMED_OUT) -> Failure:
    """The code for the part of a response that `error` befell.

    `when_unavailable` is the code that makes this API's clients try again. What is neither the client's fault
    nor a matter of time is logged here, since the client learns nothing of it but that it happened.
    """
    if isinstance(error, RequestError):
        return Failure(error.code, error.message)
    if isinstance(error, Unavailable):
        log.warning("a request failed for want of the control plane", extra={"error": str(error)})
        return Failure(when_unavailable, _TRY_AGAIN)
    log.error("a request failed", exc_info=error)
    return Failure(ErrorCode.UNKNOWN_SERVER_ERROR)

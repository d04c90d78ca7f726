"""Every error that we raise has a code."""

import logging

import pytest

from inkless.errors import CorruptData, InvariantViolated, RequestError, Unavailable
from inkless.protocol.error_codes import ErrorCode
from inkless.server.handlers.failures import failure_of


def test_a_request_error_keeps_its_code_and_reason() -> None:
    failure = failure_of(RequestError(ErrorCode.INVALID_CONFIG, "because"))
    assert failure == (ErrorCode.INVALID_CONFIG, "because")


def test_what_is_unavailable_can_be_tried_again_without_hearing_of_our_insides() -> None:
    failure = failure_of(Unavailable("postgresql://user:password@database"))
    assert failure.code.is_retriable
    assert "password" not in str(failure.message)


@pytest.mark.parametrize("error", [CorruptData("x"), InvariantViolated("x")])
def test_our_own_faults_are_logged_and_not_told(
    error: CorruptData | InvariantViolated, caplog: pytest.LogCaptureFixture
) -> None:
    assert failure_of(error) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)
    assert [record.levelno for record in caplog.records] == [logging.ERROR]

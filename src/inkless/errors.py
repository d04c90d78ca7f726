"""Every error we raise on purpose, by what the one who catches it must do.

    MalformedBytes                 the bytes are not what they claim to be: close that connection
    InklessError
    ├── RequestError               tell the client, with the Kafka error code inside
    ├── Unavailable                an outside part did not answer: retry within the deadline
    ├── CorruptData                stored bytes fail their check: never serve them, always count them
    ├── ConfigurationError         refuse to start; names the key, the value and what is allowed
    └── InvariantViolated          our own bug: keep the evidence

`MalformedBytes` lives in `inkless.protocol`, which imports nothing of ours.
"""

from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.errors import MalformedBytes

__all__ = [
    "ConfigurationError",
    "CorruptData",
    "InklessError",
    "InvariantViolated",
    "MalformedBytes",
    "RequestError",
    "Unavailable",
]


class InklessError(Exception):
    """Base of all errors raised on purpose above the wire format."""


class RequestError(InklessError):
    """A request, or one part of it, that is answered with an error code."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or code.name)
        self.code = code
        self.message = message


class Unavailable(InklessError):
    """Storage or coordinator did not answer, or answered that it cannot now."""


class CorruptData(InklessError):
    """Bytes read back from storage are not the bytes that were written."""


class ConfigurationError(InklessError):
    """A setting that cannot be used."""


class InvariantViolated(InklessError):
    """Something that DESIGN calls impossible has happened."""

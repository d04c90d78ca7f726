"""The one thing that we read of what consumers tell their leader: which topics they subscribe to."""

from struct import Struct
from struct import error as TooShort  # noqa: N812 the name says what it means here

CONSUMER_PROTOCOL_TYPE = "consumer"

_VERSION_AND_COUNT = Struct(">hi")
_LENGTH = Struct(">h")


def subscribed_topics(metadata: bytes) -> set[str]:
    """The topics in a consumer's subscription, whatever its version: all begin with a version number and an
    array of names. Bytes that are something else give the names that were found up to there."""
    topics: set[str] = set()
    try:
        _, count = _VERSION_AND_COUNT.unpack_from(metadata)
        position = _VERSION_AND_COUNT.size
        for _ in range(count):
            (length,) = _LENGTH.unpack_from(metadata, position)
            position += _LENGTH.size
            if length < 0:
                break
            topics.add(metadata[position : position + length].decode())
            position += length
    except (TooShort, UnicodeDecodeError):
        pass
    return topics

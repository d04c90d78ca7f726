"""Names of objects.

Object stores split their load by key prefix, so the first byte of the random object id stands in front of it:
writes spread over 256 prefixes from the first day, without a hot one for "now".
"""

import re
from typing import Final

from inkless.errors import InvariantViolated

KEY_BYTES_MAX: Final = 1024
"""S3's limit, less whatever the storage URL's prefix takes."""

_PART: Final = r"[A-Za-z0-9_=-][A-Za-z0-9_=.-]{0,254}"
_KEY: Final = re.compile(rf"{_PART}(?:/{_PART})*", re.ASCII)
_PREFIX: Final = re.compile(rf"(?:{_PART}/)*(?:{_PART})?", re.ASCII)
_WAL_KEY: Final = re.compile(r"wal/([0-9a-f]{2})/(\1[0-9a-f]{30})", re.ASCII)

WAL_PREFIX: Final = "wal/"


def wal_key(object_id: bytes) -> str:
    """The key of the WAL object with this 16-byte id."""
    if len(object_id) != 16:
        raise InvariantViolated(f"an object id has 16 bytes, not {len(object_id)}")
    name = object_id.hex()
    return f"{WAL_PREFIX}{name[:2]}/{name}"


def parse_wal_key(key: str) -> bytes | None:
    """The object id in a WAL object's key; None for the key of anything else."""
    match = _WAL_KEY.fullmatch(key)
    return bytes.fromhex(match[2]) if match else None


def check_key(key: str) -> None:
    """Refuses what some store would read differently than another, or as a way out of its folder.

    A part never starts with a dot: that rules out `.` and `..` and leaves such names to the folder store.
    """
    if len(key) > KEY_BYTES_MAX or _KEY.fullmatch(key) is None:
        raise InvariantViolated(f"not an object key: {key!r:.200}")


def check_prefix(prefix: str) -> None:
    """As `check_key`, for the beginning of keys; empty means all."""
    if len(prefix) > KEY_BYTES_MAX or _PREFIX.fullmatch(prefix) is None:
        raise InvariantViolated(f"not the beginning of object keys: {prefix!r:.200}")

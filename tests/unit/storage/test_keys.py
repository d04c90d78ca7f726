"""Names of objects, and what is not one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkless.errors import InvariantViolated
from inkless.storage.keys import KEY_BYTES_MAX, check_key, check_prefix, parse_wal_key, wal_key


@given(st.binary(min_size=16, max_size=16))
def test_the_object_id_can_be_read_back_from_its_key(object_id: bytes) -> None:
    key = wal_key(object_id)
    check_key(key)
    assert parse_wal_key(key) == object_id


def test_keys_spread_by_the_first_byte_of_the_id() -> None:
    assert wal_key(bytes.fromhex("ab" + "00" * 15)) == "wal/ab/ab" + "00" * 15


@pytest.mark.parametrize("length", [0, 15, 17])
def test_an_id_of_another_length_has_no_key(length: int) -> None:
    with pytest.raises(InvariantViolated):
        wal_key(bytes(length))


@pytest.mark.parametrize(
    "key",
    [
        "wal/ab/" + "00" * 16,
        "wal/00/" + "00" * 15,
        "wal/00/" + "00" * 16 + "\n",
        "wal/AB/" + "AB" * 16,
        "segments/00/" + "00" * 16,
        "",
    ],
)
def test_other_keys_are_no_wal_keys(key: str) -> None:
    assert parse_wal_key(key) is None


@pytest.mark.parametrize("key", ["a", "a/b/c", "wal/0a/x.y", "date=2024-01-01/part_1", "a" * 255])
def test_plain_keys_are_accepted(key: str) -> None:
    check_key(key)
    check_prefix(key)


@pytest.mark.parametrize(
    "key",
    [
        *("", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", ".a", "a/.b"),
        *("a\0", "a\\b", "a b", "a\n", "ä", "%2e%2e/a", "a" * 256, "a/" * KEY_BYTES_MAX + "a"),
    ],
)
def test_keys_that_stores_could_read_differently_are_refused(key: str) -> None:
    with pytest.raises(InvariantViolated):
        check_key(key)


@pytest.mark.parametrize("prefix", ["", "a", "a/", "a/b", "a/b/"])
def test_the_beginning_of_a_key_is_a_prefix(prefix: str) -> None:
    check_prefix(prefix)


@pytest.mark.parametrize("prefix", ["/", "/a", "..", "../", "a//", ".incoming/"])
def test_what_begins_no_key_is_no_prefix(prefix: str) -> None:
    with pytest.raises(InvariantViolated):
        check_prefix(prefix)

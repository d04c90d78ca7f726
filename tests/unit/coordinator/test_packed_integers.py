import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkless.coordinator.packed_integers import pack_integers, unpack_integers
from inkless.errors import CorruptData


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_what_is_packed_is_unpacked(values: list[int]) -> None:
    assert list(unpack_integers(pack_integers(values))) == values


@pytest.mark.parametrize(
    ("values", "byte_length"),
    [
        ([127, -128], 3),
        ([128, 0], 5),
        ([-129], 3),
        ([32767], 3),
        ([32768], 5),
        ([2**31 - 1], 5),
        ([2**31], 9),
        ([-(2**31)], 5),
        ([-(2**31) - 1], 9),
    ],
)
def test_narrowest_width_that_holds_all_is_taken(values: list[int], byte_length: int) -> None:
    assert len(pack_integers(values)) == byte_length


def test_values_beyond_64_bits_are_refused() -> None:
    with pytest.raises(OverflowError):
        pack_integers([2**63])


def test_blobs_have_little_endian_values_on_every_machine() -> None:
    assert pack_integers([1, 258]) == b"h\x01\x00\x02\x01"


@pytest.mark.parametrize("blob", [b"", b"z\x00", b"h\x00", b"\xff"])
def test_blob_that_was_never_packed_is_corrupt(blob: bytes) -> None:
    with pytest.raises(CorruptData):
        unpack_integers(blob)

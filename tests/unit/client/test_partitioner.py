from inkless.client.partitioner import StickyPartitioner
from inkless.records.murmur2 import partition_for_key


class Scripted:
    """Gives the numbers it was made with, in turn."""

    def __init__(self, *numbers: float) -> None:
        self._numbers = list(numbers)

    def uniform(self) -> float:
        return self._numbers.pop(0)

    def new_id(self) -> bytes:
        raise NotImplementedError


def test_a_key_always_goes_to_its_own_partition() -> None:
    partitioner = StickyPartitioner(Scripted())
    assert {partitioner.choose("t", b"key", 7) for _ in range(3)} == {partition_for_key(b"key", 7)}


def test_an_empty_key_is_a_key() -> None:
    assert StickyPartitioner(Scripted()).choose("t", b"", 7) == partition_for_key(b"", 7)


def test_records_without_a_key_stay_until_the_batch_is_closed() -> None:
    partitioner = StickyPartitioner(Scripted(0.5, 0.99))
    assert [partitioner.choose("t", None, 4) for _ in range(3)] == [2, 2, 2]
    partitioner.batch_closed("t", 2, 4)
    assert partitioner.choose("t", None, 4) == 1


def test_the_next_partition_is_never_the_same_one() -> None:
    for number in (0.0, 0.3, 0.6, 0.999):
        partitioner = StickyPartitioner(Scripted(0.5, number))
        partitioner.choose("t", None, 4)
        partitioner.batch_closed("t", 2, 4)
        assert partitioner.choose("t", None, 4) != 2


def test_a_batch_closed_elsewhere_moves_nobody() -> None:
    partitioner = StickyPartitioner(Scripted(0.5))
    partitioner.choose("t", None, 4)
    partitioner.batch_closed("t", 3, 4)
    assert partitioner.choose("t", None, 4) == 2


def test_topics_stick_by_themselves() -> None:
    partitioner = StickyPartitioner(Scripted(0.0, 0.9))
    assert (partitioner.choose("t", None, 4), partitioner.choose("u", None, 4)) == (0, 3)

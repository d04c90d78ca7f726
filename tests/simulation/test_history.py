"""The checks find what they are there to find."""

import pytest

from inkless.coordinator.types import BatchFacts, PartitionId, TopicId
from inkless.protocol.error_codes import ErrorCode
from inkless.records.encode import encode_batch
from inkless.records.record import Record
from inkless.records.stamp import stamp_offsets
from simulation.history import Attempt, Bounds, Broken, History

PARTITION = PartitionId(0, TopicId(bytes(16)), 0)


def batch(name: str, record_count: int = 1) -> bytes:
    return encode_batch([Record(delta, 1, None, name.encode()) for delta in range(record_count)])


def at(offset: int, name: str, record_count: int = 1) -> memoryview:
    content = memoryview(bytearray(batch(name, record_count)))
    stamp_offsets(content, offset)
    return content


class Told:
    """A history in few words."""

    def __init__(self) -> None:
        self.history = History()

    def sent(
        self,
        name: str,
        *,
        record_count: int = 1,
        error: ErrorCode | None = None,
        offset: int = -1,
        sequence: int | None = None,
        connection: int = 0,
    ) -> None:
        content = batch(name, record_count)
        facts = BatchFacts(len(content), record_count, 1)
        if sequence is not None:
            facts = facts._replace(producer_id=7, producer_epoch=0, base_sequence=sequence)
        attempt = Attempt(PARTITION, content, facts, connection)
        self.history.sent(attempt)
        if error is not None:
            self.history.answered(attempt, error, offset)

    def acked(self, name: str, offset: int, *, record_count: int = 1, sequence: int | None = None) -> None:
        self.sent(name, record_count=record_count, error=ErrorCode.NONE, offset=offset, sequence=sequence)

    def check(self, *records: memoryview, log_start_offset: int = 0, high_watermark: int) -> None:
        self.history.check_log(PARTITION, Bounds(log_start_offset, high_watermark), records)


@pytest.fixture
def told() -> Told:
    return Told()


def test_a_sound_history_passes(told: Told) -> None:
    told.acked("a", 0, record_count=2)
    told.sent("lost", error=ErrorCode.REQUEST_TIMED_OUT)
    told.sent("died")
    told.sent("failed", error=ErrorCode.KAFKA_STORAGE_ERROR)
    told.acked("b", 3)
    told.check(at(0, "a", 2), at(2, "lost"), at(3, "b"), high_watermark=4)


def test_what_was_acknowledged_must_be_there(told: Told) -> None:
    told.acked("a", 0)
    told.sent("b")
    with pytest.raises(Broken, match="acknowledged at 0, but not there"):
        told.check(at(0, "b"), high_watermark=1)


def test_what_was_deleted_may_be_missing(told: Told) -> None:
    told.acked("a", 0)
    told.acked("b", 1)
    told.check(at(1, "b"), log_start_offset=1, high_watermark=2)


def test_a_second_copy_is_found(told: Told) -> None:
    told.acked("a", 0)
    with pytest.raises(Broken, match="second copy"):
        told.check(at(0, "a"), at(1, "a"), high_watermark=2)


@pytest.mark.parametrize("second_at", [0, 2])
def test_gaps_and_overlaps_are_found(told: Told, second_at: int) -> None:
    told.acked("a", 0)
    told.sent("b")
    with pytest.raises(Broken, match="follows one that ends at 1"):
        told.check(at(0, "a"), at(second_at, "b"), high_watermark=3)


def test_a_log_that_ends_before_its_high_watermark_is_found(told: Told) -> None:
    told.acked("a", 0)
    with pytest.raises(Broken, match="its high watermark is 2"):
        told.check(at(0, "a"), high_watermark=2)


def test_two_acknowledgements_out_of_order_are_found(told: Told) -> None:
    told.acked("sent first", 1)
    told.acked("sent second", 0)
    with pytest.raises(Broken, match="was sent after"):
        told.check(at(0, "sent second"), at(1, "sent first"), high_watermark=2)


def test_a_missing_sequence_is_found(told: Told) -> None:
    told.acked("a", 0, sequence=0)
    told.acked("c", 1, sequence=2)
    with pytest.raises(Broken, match="sequence 2"):
        told.check(at(0, "a"), at(1, "c"), high_watermark=2)


def test_a_refused_batch_must_not_be_read(told: Told) -> None:
    told.sent("a", error=ErrorCode.KAFKA_STORAGE_ERROR)
    with pytest.raises(Broken, match="was refused"):
        told.history.read(PARTITION, 0, [at(0, "a")], high_watermark=1)


def test_what_nobody_sent_must_not_be_read(told: Told) -> None:
    with pytest.raises(Broken, match="never sent"):
        told.history.read(PARTITION, 0, [at(0, "a")], high_watermark=1)


def test_an_offset_must_not_change_what_it_holds(told: Told) -> None:
    told.sent("a")
    told.sent("b")
    told.history.read(PARTITION, 0, [at(0, "a")], high_watermark=1)
    with pytest.raises(Broken, match="held something else"):
        told.history.read(PARTITION, 0, [at(0, "b")], high_watermark=1)


def test_nobody_may_see_beyond_the_high_watermark(told: Told) -> None:
    told.sent("a", record_count=2)
    with pytest.raises(Broken, match="beyond the high watermark"):
        told.history.read(PARTITION, 0, [at(0, "a", 2)], high_watermark=1)


def test_a_read_begins_with_what_was_asked_for(told: Told) -> None:
    told.sent("a")
    with pytest.raises(Broken, match="asked for 1"):
        told.history.read(PARTITION, 1, [at(0, "a")], high_watermark=2)


@pytest.mark.parametrize("bounds", [Bounds(0, 9), Bounds(1, 8), Bounds(11, 10)])
def test_a_log_that_goes_back_is_found(told: Told, bounds: Bounds) -> None:
    told.history.observed("me", PARTITION, Bounds(1, 9))
    told.history.observed("another", PARTITION, Bounds(0, 3))
    with pytest.raises(Broken):
        told.history.observed("me", PARTITION, bounds)


def test_an_answer_that_cannot_be_is_found(told: Told) -> None:
    with pytest.raises(Broken, match="CORRUPT_MESSAGE"):
        told.sent("a", error=ErrorCode.CORRUPT_MESSAGE)

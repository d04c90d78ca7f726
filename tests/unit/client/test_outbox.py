import pytest

from inkless.client.outbox import Lane, Outbox, OutboxSettings, ProducerIdentity
from inkless.client.pending import Delivery, OnDelivered, OutgoingRecord, PendingBatch
from inkless.client.topology import TopicPartition
from inkless.records.compress import Codec
from inkless.records.decode import decode_records
from inkless.records.header import read_header

PLACE = TopicPartition("t", 0)
SETTINGS = OutboxSettings(linger_ms=1_000, batch_bytes_max=300, in_flight_max=2, delivery_timeout_ms=60_000)
ME = ProducerIdentity(7, 1)


def record(value: bytes = b"v", on_delivered: OnDelivered | None = None) -> OutgoingRecord:
    return OutgoingRecord(None, value, (), 1_000, on_delivered)


def lane_with(batch_count: int, *, idempotent: bool = False) -> Lane:
    """A lane whose batches hold one record each and are all ready."""
    lane = Lane(PLACE, SETTINGS, idempotent=idempotent)
    if idempotent:
        lane.adopt(ME)
    for number in range(batch_count):
        lane.append(record(b"%d" % number), now=0.0)
        for batch in lane:
            batch.is_closed = True
    return lane


def values(batch: PendingBatch) -> list[bytes | None]:
    return [r.value for r in decode_records(memoryview(batch.seal(Codec.NONE)))]


def sequence(batch: PendingBatch) -> int:
    return read_header(memoryview(batch.seal(Codec.NONE))).base_sequence


def test_a_batch_leaves_when_it_has_lingered() -> None:
    lane = Lane(PLACE, SETTINGS, idempotent=False)
    assert lane.wait_s(0.0) is None
    lane.append(record(), now=10.0)
    assert lane.wait_s(10.25) == 0.75
    assert lane.wait_s(11.0) == 0


def test_a_full_batch_leaves_at_once_and_the_record_starts_the_next() -> None:
    lane = Lane(PLACE, SETTINGS, idempotent=False)
    assert not lane.append(record(b"a" * 100), now=0.0)
    assert lane.append(record(b"b" * 200), now=0.0)
    assert lane.wait_s(0.0) == 0
    assert values(lane.take()) == [b"a" * 100]
    assert lane.wait_s(0.0) == 1


def test_a_record_larger_than_a_batch_goes_alone() -> None:
    lane = Lane(PLACE, SETTINGS, idempotent=False)
    lane.append(record(b"x" * 1_000), now=0.0)
    assert lane.append(record(b"y"), now=0.0)
    assert values(lane.take()) == [b"x" * 1_000]


def test_records_are_gathered_in_order() -> None:
    lane = Lane(PLACE, SETTINGS, idempotent=False)
    for value in (b"1", b"2", b"3"):
        lane.append(record(value), now=0.0)
    assert values(lane.take()) == [b"1", b"2", b"3"]


def test_no_more_batches_are_in_flight_than_allowed() -> None:
    lane = lane_with(3)
    first, _ = lane.take(), lane.take()
    assert lane.wait_s(0.0) is None
    assert lane.settled(first, 0.0) == []
    assert lane.wait_s(0.0) == 0


def test_after_a_failure_nothing_leaves_until_all_is_back_and_then_in_order() -> None:
    lane = lane_with(3)
    first, second = lane.take(), lane.take()
    assert lane.failed(first, 1.0, backoff_s=0.5) == []
    assert lane.wait_s(1.0) is None
    assert lane.failed(second, 1.0, backoff_s=0.5) == []
    assert lane.wait_s(1.0) == 0.5
    assert [lane.take(), lane.take()] == [first, second]


def test_what_was_stored_behind_a_failed_batch_is_not_sent_again() -> None:
    lane = lane_with(3)
    first, second = lane.take(), lane.take()
    lane.failed(first, 0.0, backoff_s=0.0)
    lane.settled(second, 0.0)
    assert lane.take() is first
    assert values(lane.take()) == [b"2"]


def test_sequence_numbers_count_records_and_a_retry_keeps_its_own() -> None:
    lane = Lane(PLACE, SETTINGS, idempotent=True)
    assert lane.needs_identity
    lane.adopt(ME)
    for _ in range(2):
        lane.append(record(), now=0.0)
    first = lane.take()
    lane.append(record(), now=0.0)
    second = lane.take()
    assert (sequence(first), sequence(second)) == (0, 2)
    before = first.seal(Codec.NONE)
    lane.settled(second, 0.0)
    lane.failed(first, 0.0, backoff_s=0.0)
    assert lane.take().seal(Codec.NONE) == before


def test_a_refused_batch_makes_the_lane_start_its_sequence_anew() -> None:
    lane = lane_with(3, idempotent=True)
    first, second = lane.take(), lane.take()
    lane.refused(first, 0.0)
    assert lane.wait_s(0.0) is None, "what is in flight must come back first"
    lane.failed(second, 0.0, backoff_s=0.0)
    assert lane.needs_identity
    lane.adopt(ProducerIdentity(8, 0))
    again = lane.take()
    assert again is second
    header = read_header(memoryview(again.seal(Codec.NONE)))
    assert (header.producer_id, header.base_sequence) == (8, 0)
    assert sequence(lane.take()) == 1


def test_an_anonymous_lane_never_needs_an_identity() -> None:
    lane = lane_with(1)
    lane.refused(lane.take(), 0.0)
    assert not lane.needs_identity


def test_sequence_numbers_wrap() -> None:
    lane = lane_with(2, idempotent=True)
    lane._next_sequence = 2**31 - 1
    assert [sequence(lane.take()), sequence(lane.take())] == [2**31 - 1, 0]


def test_a_round_that_is_too_old_is_given_up_as_a_whole() -> None:
    lane = lane_with(3, idempotent=True)
    first, second = lane.take(), lane.take()
    assert lane.failed(second, 61.0, backoff_s=0.0) == []
    assert lane.failed(first, 61.0, backoff_s=0.0) == [first, second]
    assert lane.needs_identity


def test_batches_that_nobody_takes_expire() -> None:
    lane = lane_with(2)
    assert lane.expire(59.0) == []
    assert [values(batch) for batch in lane.expire(60.0)] == [[b"0"], [b"1"]]
    assert lane.is_idle


def test_only_the_oldest_unsettled_batch_is_the_oldest() -> None:
    lane = lane_with(2)
    first, second = lane.take(), lane.take()
    assert lane.is_oldest(first)
    assert not lane.is_oldest(second)
    lane.failed(first, 0.0, backoff_s=0.0)
    assert not lane.is_oldest(second)


def test_the_outbox_waits_for_its_soonest_lane() -> None:
    outbox = Outbox(SETTINGS, idempotent=False)
    assert outbox.wait_s(0.0) is None
    outbox.lane(PLACE).append(record(), now=5.0)
    outbox.lane(TopicPartition("t", 1)).append(record(), now=4.0)
    assert outbox.wait_s(4.5) == 0.5
    assert [lane.place.partition for lane in outbox.ready(5.0)] == [1]
    assert len(outbox.unsettled()) == 2
    assert len(outbox.expire(100.0)) == 2


def test_every_record_hears_where_it_is() -> None:
    heard: list[Delivery | None] = []
    lane = Lane(PLACE, SETTINGS, idempotent=False)
    for _ in range(2):
        lane.append(record(on_delivered=lambda delivery, _: heard.append(delivery)), now=0.0)
    lane.take().delivered(base_offset=40, append_time_ms=-1)
    assert heard == [Delivery(PLACE, 40, 1_000), Delivery(PLACE, 41, 1_000)]


def test_append_time_and_unknown_offsets_are_passed_on() -> None:
    heard: list[Delivery | None] = []
    lane = Lane(PLACE, SETTINGS, idempotent=False)
    lane.append(record(), now=0.0)
    lane.append(record(on_delivered=lambda delivery, _: heard.append(delivery)), now=0.0)
    lane.take().delivered(base_offset=-1, append_time_ms=77)
    assert heard == [Delivery(PLACE, -1, 77)]


def test_a_lost_batch_tells_everyone_once_even_if_a_callback_fails(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Exception | None] = []

    def fails(_: Delivery | None, error: Exception | None) -> None:
        raise RuntimeError("in the caller's code")

    lane = Lane(PLACE, SETTINGS, idempotent=False)
    lane.append(record(on_delivered=fails), now=0.0)
    lane.append(record(on_delivered=lambda _, error: heard.append(error)), now=0.0)
    batch = lane.take()
    error = OSError("gone")
    batch.lost(error)
    batch.lost(error)
    assert heard == [error]
    assert batch.is_settled
    assert "in the caller's code" in caplog.text


@pytest.mark.parametrize("headers", [(), (("name", b"x" * 50), ("ü" * 40, None))])
def test_the_size_bound_is_never_too_small(headers: tuple[tuple[str, bytes | None], ...]) -> None:
    outgoing = OutgoingRecord(b"k" * 300, b"v" * 70_000, headers, 2**62, None)
    batch = PendingBatch(PLACE, number=0, opened_at=0.0)
    empty = batch.byte_length
    batch.append(outgoing)
    assert batch.byte_length - empty <= outgoing.bytes_max

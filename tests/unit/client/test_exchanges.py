import pytest

from inkless.client.answers import check, refusal
from inkless.client.fetch_exchange import FetchExchange, FetchLimits
from inkless.client.pending import OutgoingRecord, PendingBatch
from inkless.client.produce_exchange import ProduceExchange, Verdict, judge
from inkless.client.topology import ClusterView, TopicPartition, TopicView
from inkless.errors import CorruptData, RequestError
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from inkless.records.compress import Codec
from inkless.records.encode import encode_batch
from inkless.records.record import Record

ID = b"\x01" * 16
PLACE = TopicPartition("t", 3)
WITH_ID = ClusterView(topics={"t": TopicView("t", ID, False, {})})
WITHOUT_ID = ClusterView(topics={"t": TopicView("t", bytes(16), False, {})})


def produce(view: ClusterView = WITH_ID) -> ProduceExchange:
    batch = PendingBatch(PLACE, number=0, opened_at=0.0)
    batch.append(OutgoingRecord(None, b"v", (), 0, None))
    return ProduceExchange({PLACE: batch}, view, codec=Codec.NONE, acks=-1, timeout_ms=1)


def fetch(view: ClusterView = WITH_ID, offset: int = 0) -> FetchExchange:
    return FetchExchange({PLACE: offset}, view, FetchLimits())


@pytest.mark.parametrize(("view", "version_max"), [(WITH_ID, None), (WITHOUT_ID, 12), (ClusterView(), 12)])
def test_topics_without_a_known_id_go_by_name(view: ClusterView, version_max: int | None) -> None:
    assert produce(view).version_max == version_max
    assert fetch(view).version_max == version_max


@pytest.mark.parametrize("by_id", [True, False])
def test_produce_answers_find_their_batch_by_name_or_id(by_id: bool) -> None:
    exchange = produce()
    answer = PartitionProduceResponse(index=3, base_offset=9)
    topic = TopicProduceResponse("" if by_id else "t", ID if by_id else bytes(16), [answer])
    assert list(exchange.answers(ProduceResponse(responses=[topic]))) == [(exchange.batches[PLACE], answer)]


def test_a_batch_that_is_not_answered_is_to_be_tried_again() -> None:
    exchange = produce()
    ((batch, answer),) = exchange.answers(ProduceResponse())
    assert batch is exchange.batches[PLACE]
    assert judge(ErrorCode(answer.error_code), is_oldest=True) is Verdict.TRY_AGAIN


@pytest.mark.parametrize(
    ("code", "is_oldest", "verdict"),
    [
        (ErrorCode.NONE, True, Verdict.STORED),
        (ErrorCode.DUPLICATE_SEQUENCE_NUMBER, True, Verdict.STORED),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, True, Verdict.TRY_AGAIN),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, False, Verdict.TRY_AGAIN),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, True, Verdict.REFUSED),
        (ErrorCode.MESSAGE_TOO_LARGE, True, Verdict.REFUSED),
        (ErrorCode.INVALID_RECORD, False, Verdict.REFUSED),
    ],
)
def test_codes_decide_what_becomes_of_a_batch(code: ErrorCode, is_oldest: bool, verdict: Verdict) -> None:
    assert judge(code, is_oldest=is_oldest) is verdict


@pytest.mark.parametrize("by_id", [True, False])
def test_fetch_answers_find_their_partition_by_name_or_id(by_id: bool) -> None:
    data = PartitionData(partition_index=3)
    stranger = PartitionData(partition_index=4)
    topic = FetchableTopicResponse("" if by_id else "t", ID if by_id else bytes(16), [data, stranger])
    assert list(fetch().answers(FetchResponse(responses=[topic]))) == [(PLACE, data)]


def run_bytes(*offsets: int) -> bytes:
    return encode_batch([Record(offset, 0, None, b"%d" % offset) for offset in offsets])


def test_a_run_ends_with_its_last_whole_batch_and_starts_where_the_reader_is() -> None:
    cut = run_bytes(5, 6)[:-1]
    exchange = fetch(offset=1)
    data = PartitionData(
        partition_index=3, high_watermark=9, records=[run_bytes(0, 1, 2) + run_bytes(3, 4) + cut]
    )
    run = exchange.run(PLACE, data)
    assert run is not None
    assert (run.start_offset, run.end_offset, run.high_watermark) == (1, 5, 9)
    assert [record.offset for record in run.records()] == [1, 2, 3, 4]


def test_records_in_several_pieces_are_one_run() -> None:
    first, second = run_bytes(0), run_bytes(1)
    run = fetch().run(PLACE, PartitionData(records=[first, second]))
    assert run is not None
    assert [record.offset for record in run.records()] == [0, 1]


@pytest.mark.parametrize("records", [None, [], [b""]])
def test_nothing_fetched_is_no_run(records: list[bytes] | None) -> None:
    assert fetch().run(PLACE, PartitionData(records=records)) is None


def test_a_first_batch_that_is_cut_short_can_never_be_read() -> None:
    with pytest.raises(CorruptData, match="t-3"):
        fetch().run(PLACE, PartitionData(records=[run_bytes(0)[:-1]]))


def test_a_refusal_says_what_was_refused_and_why() -> None:
    error = refusal(ErrorCode.INVALID_CONFIG, "create topic t", "no such key")
    assert (error.code, str(error)) == (
        ErrorCode.INVALID_CONFIG,
        "create topic t: INVALID_CONFIG (no such key)",
    )
    assert "error code 9999" in str(refusal(9999, "x"))


def test_only_an_error_is_raised() -> None:
    check(ErrorCode.NONE, "x")
    with pytest.raises(RequestError):
        check(ErrorCode.INVALID_CONFIG, "x")

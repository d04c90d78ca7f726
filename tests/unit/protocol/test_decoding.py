import tracemalloc

import pytest

from inkless.protocol.codec import decode_exactly, decoder
from inkless.protocol.errors import MalformedBytes
from inkless.protocol.messages import (
    ApiVersionsRequest,
    DescribeTopicPartitionsRequest,
    FetchRequest,
    FetchResponse,
    ListGroupsRequest,
    MetadataRequest,
    MetadataRequestTopic,
    ProduceRequest,
    ProduceResponse,
)

PRODUCE_V9 = (
    b"\x00"  # transactional id: null
    b"\xff\xff\x00\x00\x75\x30"  # acks -1, timeout 30000
    b"\x02\x02t"  # one topic, "t"
    b"\x02\x00\x00\x00\x07\x04abc\x00"  # one partition, 7, three bytes of records, no tags
    b"\x00\x00"  # no tags in topic and request
)


def test_fields_stand_where_the_protocol_says() -> None:
    request = decode_exactly(ProduceRequest, 9, memoryview(PRODUCE_V9))
    assert (request.transactional_id, request.acks, request.timeout_ms) == (None, -1, 30_000)
    (topic,) = request.topic_data
    (partition,) = topic.partition_data
    assert (topic.name, partition.index, partition.records) == ("t", 7, b"abc")


def test_decoding_starts_at_the_position_and_tells_where_it_ended() -> None:
    view = memoryview(b"??" + PRODUCE_V9 + b"???")
    request, stop = decoder(ProduceRequest, 9)(view, 2)
    assert request.topic_data[0].name == "t"
    assert stop == 2 + len(PRODUCE_V9)


def test_records_are_views_of_the_received_bytes() -> None:
    received = bytearray(PRODUCE_V9)
    records = decode_exactly(ProduceRequest, 9, memoryview(received)).topic_data[0].partition_data[0].records
    received[received.index(b"abc")] = ord("z")
    assert records == b"zbc"


def test_fetched_records_are_one_view_of_the_received_bytes() -> None:
    received = (
        b"\0\0\0\0"  # throttle
        b"\0\0\0\1\0\1t\0\0\0\1"  # one topic, "t", one partition
        b"\0\0\0\0\0\0" + bytes(16) + b"\xff\xff\xff\xff"  # index, error, offsets, no aborted transactions
        b"\0\0\0\3abc"
    )
    (records,) = (
        decode_exactly(FetchResponse, 4, memoryview(received)).responses[0].partitions[0].records or []
    )
    assert isinstance(records, memoryview)
    assert records.obj is received


@pytest.mark.parametrize("length", range(len(PRODUCE_V9)))
def test_every_cut_is_malformed(length: int) -> None:
    with pytest.raises(MalformedBytes):
        decoder(ProduceRequest, 9)(memoryview(PRODUCE_V9)[:length], 0)


def test_bytes_behind_the_message_are_malformed() -> None:
    with pytest.raises(MalformedBytes, match="1 bytes too many"):
        decode_exactly(ProduceRequest, 9, memoryview(PRODUCE_V9 + b"\0"))


def test_null_is_malformed_where_the_version_does_not_allow_it() -> None:
    null_array = memoryview(b"\xff\xff\xff\xff")
    with pytest.raises(MalformedBytes, match="topics"):
        decode_exactly(MetadataRequest, 0, null_array)
    assert decode_exactly(MetadataRequest, 1, null_array).topics is None


@pytest.mark.parametrize("length", [b"\xff\xfe", b"\x80\x00"])
def test_negative_length_other_than_null_is_malformed(length: bytes) -> None:
    with pytest.raises(MalformedBytes, match="transactional_id"):
        decoder(ProduceRequest, 3)(memoryview(length + bytes(100)), 0)


def test_invalid_utf8_is_malformed() -> None:
    with pytest.raises(MalformedBytes, match="utf-8"):
        decode_exactly(ApiVersionsRequest, 3, memoryview(b"\x02\xff\x01\x00"))


@pytest.mark.parametrize(
    ("version", "count"),
    [(8, b"\x7f\xff\xff\xff"), (9, b"\xff\xff\xff\xff\x07"), (9, b"\xff\xff\xff\xff\x7f")],
)
def test_absurd_array_length_is_refused_without_allocating(version: int, count: bytes) -> None:
    decode = decoder(MetadataRequest, version)
    view = memoryview(count + bytes(50))
    tracemalloc.start()
    try:
        with pytest.raises(MalformedBytes, match="topics has a bad length"):
            decode(view, 0)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_array_may_fill_exactly_what_remains() -> None:
    names = memoryview(b"\x00\x00\x00\x02\x00\x00\x00\x00")
    assert decode_exactly(MetadataRequest, 0, names).topics == [MetadataRequestTopic(name="")] * 2


def test_unknown_tagged_fields_are_skipped() -> None:
    tagged = memoryview(b"\x01\x01" + b"\x02\x09\x03abc\xc8\x01\x00")
    assert decode_exactly(ListGroupsRequest, 5, tagged) == ListGroupsRequest()


def fetch_v12(tags: bytes) -> memoryview:
    return memoryview(bytes(4 + 4 + 4 + 4 + 1 + 4 + 4) + b"\x01\x01\x01" + tags)


def test_known_tagged_field_is_read_among_unknown_ones() -> None:
    request = decode_exactly(FetchRequest, 12, fetch_v12(b"\x02\x00\x02\x02c\x05\x01?"))
    assert request.cluster_id == "c"


def test_tagged_field_of_the_wrong_size_is_malformed() -> None:
    with pytest.raises(MalformedBytes, match="cluster_id is not as long as its tag says"):
        decode_exactly(FetchRequest, 12, fetch_v12(b"\x01\x00\x04\x02c??"))


def test_tagged_struct_that_is_not_sent_is_none() -> None:
    absent = b"\x02\x02t\x02" + bytes(4 + 2 + 8 * 3) + b"\x01\x00"
    response = decode_exactly(ProduceResponse, 10, memoryview(absent + b"\x00\x00" + bytes(4) + b"\x00"))
    assert response.responses[0].partition_responses[0].current_leader is None


def test_struct_may_be_null() -> None:
    without_cursor = memoryview(b"\x01\x00\x00\x00\x05\xff\x00")
    assert decode_exactly(DescribeTopicPartitionsRequest, 0, without_cursor).cursor is None


def test_version_without_table_is_refused() -> None:
    with pytest.raises(ValueError, match="FetchRequest has no version 3"):
        decoder(FetchRequest, 3)

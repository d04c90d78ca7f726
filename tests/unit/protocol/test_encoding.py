import pytest

from inkless.protocol.codec import chunked_encoder, encoder
from inkless.protocol.errors import UnencodableMessage
from inkless.protocol.messages import (
    FetchableTopicResponse,
    FetchResponse,
    HeartbeatRequest,
    LeaderIdAndEpoch,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
    PartitionData,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)


def encode(message: object, version: int) -> bytes:
    out = bytearray()
    encoder(type(message), version)(message, out)
    return bytes(out)


def test_message_is_appended_to_what_is_there() -> None:
    out = bytearray(b"before")
    encoder(HeartbeatRequest, 0)(HeartbeatRequest("g", 5, "m"), out)
    assert out == b"before\x00\x01g\x00\x00\x00\x05\x00\x01m"


def test_fields_that_the_version_lacks_are_left_out() -> None:
    message = HeartbeatRequest("g", 5, "m", group_instance_id="i")
    assert encode(message, 2) == b"\x00\x01g\x00\x00\x00\x05\x00\x01m"
    assert encode(message, 3) == b"\x00\x01g\x00\x00\x00\x05\x00\x01m\x00\x01i"


def test_tagged_struct_is_sent_only_if_set() -> None:
    def response(leader: LeaderIdAndEpoch | None) -> ProduceResponse:
        partition = PartitionProduceResponse(index=1, current_leader=leader)
        return ProduceResponse([TopicProduceResponse("t", partition_responses=[partition])])

    absent, present = encode(response(None), 10), encode(response(LeaderIdAndEpoch(3, 4)), 10)
    tag = b"\x01\x00\x09\x00\x00\x00\x03\x00\x00\x00\x04\x00"
    assert tag in present
    assert len(present) - len(absent) == len(tag) - 1


def test_records_stay_the_objects_they_are() -> None:
    first, second, third = bytes(100), memoryview(bytes(50)), bytearray(b"xyz")
    response = FetchResponse(
        responses=[
            FetchableTopicResponse(
                "t", partitions=[PartitionData(0, records=[first, second]), PartitionData(1, records=[third])]
            )
        ]
    )
    chunks = chunked_encoder(FetchResponse, 11)(response)
    assert chunks[1] is first
    assert chunks[2] is second
    assert chunks[4] is third
    assert b"".join(chunks) == encode(response, 11)


def test_length_of_records_is_the_sum_of_the_pieces() -> None:
    response = FetchResponse(
        responses=[FetchableTopicResponse("t", partitions=[PartitionData(records=[b"ab", b"cde"])])]
    )
    assert encode(response, 4).endswith(b"\x00\x00\x00\x05abcde")


def test_chunked_request_refers_to_its_records() -> None:
    records = memoryview(bytes(10))
    request = ProduceRequest(
        topic_data=[TopicProduceData("t", partition_data=[PartitionProduceData(0, records)])]
    )
    assert any(chunk is records for chunk in chunked_encoder(ProduceRequest, 9)(request))


@pytest.mark.parametrize("count", [0, 1, 16, 17, 126, 127, 300])
def test_integer_arrays_of_any_length_are_length_and_elements(count: int) -> None:
    partition = MetadataResponsePartition(replica_nodes=list(range(count)))
    response = MetadataResponse(topics=[MetadataResponseTopic(name="t", partitions=[partition])])
    elements = b"".join(number.to_bytes(4, "big") for number in range(count))
    assert count.to_bytes(4, "big") + elements in encode(response, 4)


@pytest.mark.parametrize(
    "message",
    [
        HeartbeatRequest(generation_id=2**31),
        HeartbeatRequest(group_id="g" * 40_000),
        HeartbeatRequest(group_id=None),  # type: ignore[arg-type]
        HeartbeatRequest(group_id="\ud800"),
    ],
    ids=["too large", "too long", "null", "half a surrogate pair"],
)
def test_value_that_does_not_fit_is_unencodable(message: HeartbeatRequest) -> None:
    with pytest.raises(UnencodableMessage, match="HeartbeatRequest v1"):
        encode(message, 1)


def test_messages_do_not_share_their_empty_arrays() -> None:
    assert MetadataResponse().topics is not MetadataResponse().topics


def test_version_without_table_is_refused() -> None:
    with pytest.raises(ValueError, match="HeartbeatRequest has no version 5"):
        encoder(HeartbeatRequest, 5)
    with pytest.raises(ValueError, match="HeartbeatRequest has no version -1"):
        chunked_encoder(HeartbeatRequest, -1)

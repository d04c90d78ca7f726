import pytest

from inkless.client.topology import Address, ClusterView, TopicPartition, parse_bootstrap
from inkless.errors import ConfigurationError, RequestError
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def described(*topics: MetadataResponseTopic) -> MetadataResponse:
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=1, host="a", port=1), MetadataResponseBroker(2, "b", 2, "z")],
        cluster_id="c",
        controller_id=2,
        topics=list(topics),
    )


def topic(name: str, *leaders: int) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=name,
        topic_id=name.encode() * 16,
        partitions=[
            MetadataResponsePartition(partition_index=index, leader_id=leader, replica_nodes=[leader])
            for index, leader in enumerate(leaders)
        ],
    )


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ("localhost", [("localhost", 9092)]),
        ("a:1, b:2,", [("a", 1), ("b", 2)]),
        ("[::1]:9093,[fe80::1]", [("::1", 9093), ("fe80::1", 9092)]),
    ],
)
def test_bootstrap_servers_are_read(servers: str, expected: list[tuple[str, int]]) -> None:
    assert list(parse_bootstrap(servers)) == expected


@pytest.mark.parametrize(
    "servers", ["", " , ", "a:0", "a:65536", "a:b", ":9092", "::1", "[::1", "[::1]9092", "a:²"]
)
def test_bad_bootstrap_servers_are_named(servers: str) -> None:
    with pytest.raises(ConfigurationError, match=r"bootstrap\.servers"):
        parse_bootstrap(servers)


def test_an_address_reads_as_it_was_written() -> None:
    assert str(Address("a", 1)) == "a:1"
    assert str(Address("::1", 1)) == "[::1]:1"


def test_leaders_are_found() -> None:
    view = ClusterView().merged(described(topic("t", 2, 1)))
    assert view.leader(TopicPartition("t", 0)).address == ("b", 2)
    assert view.leader(TopicPartition("t", 1)).address == ("a", 1)
    assert (view.cluster_id, view.controller_id) == ("c", 2)


@pytest.mark.parametrize(
    ("place", "code"),
    [
        (TopicPartition("other", 0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicPartition("t", 9), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicPartition("t", 1), ErrorCode.LEADER_NOT_AVAILABLE),
        (TopicPartition("secret", 0), ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    ],
)
def test_a_missing_leader_says_why(place: TopicPartition, code: ErrorCode) -> None:
    refused = MetadataResponseTopic(name="secret", error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    view = ClusterView().merged(described(topic("t", 1, -1), refused))
    with pytest.raises(RequestError) as caught:
        view.leader(place)
    assert caught.value.code is code


def test_topics_accumulate_and_a_later_word_replaces_an_earlier() -> None:
    view = ClusterView().merged(described(topic("t", 1), topic("u", 1)))
    view = view.merged(described(topic("t", 2), MetadataResponseTopic(name="u", error_code=3)))
    assert view.leader(TopicPartition("t", 0)).node_id == 2
    assert "u" not in view.topics
    assert "u" in view.merged(described(topic("u", 1))).topics


def test_forgotten_topics_are_unknown() -> None:
    view = ClusterView().merged(described(topic("t", 1), topic("u", 1))).without(["t"])
    assert list(view.topics) == ["u"]


def test_an_error_code_of_the_future_is_an_unknown_error() -> None:
    view = ClusterView().merged(described(MetadataResponseTopic(name="t", error_code=9999)))
    with pytest.raises(RequestError) as caught:
        view.topic("t")
    assert caught.value.code is ErrorCode.UNKNOWN_SERVER_ERROR

"""The pure rules: placement, names, endpoints, coordinators."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkless.cluster.coordinators import coordinator_of
from inkless.cluster.endpoints import endpoint
from inkless.cluster.placement import place_partitions
from inkless.cluster.topic_names import check_topic_name, collides
from inkless.coordinator.types import BrokerRegistration, Listener
from support.cluster_parts import a_broker

BROKERS = st.lists(
    st.tuples(st.integers(0, 50), st.sampled_from([None, "a", "b", "c"])),
    min_size=1,
    max_size=12,
    unique_by=lambda pair: pair[0],
).map(lambda pairs: [a_broker(broker_id, rack=rack) for broker_id, rack in sorted(pairs)])


@given(brokers=BROKERS, count=st.integers(1, 30))
def test_every_partition_has_one_replica_in_every_rack(brokers: list[BrokerRegistration], count: int) -> None:
    rack_of = {broker.broker_id: broker.rack for broker in brokers}
    placed = place_partitions(count, brokers, [])
    assert len(placed) == count
    for replicas in placed:
        racks = [rack_of[broker_id] for broker_id in replicas]
        assert len(racks) == len(set(racks))
        assert set(racks) == set(rack_of.values())


@given(brokers=BROKERS, count=st.integers(1, 30))
def test_replicas_are_spread_evenly_in_each_rack(brokers: list[BrokerRegistration], count: int) -> None:
    load = Counter(broker_id for replicas in place_partitions(count, brokers, []) for broker_id in replicas)
    for rack in {broker.rack for broker in brokers}:
        in_rack = [load[broker.broker_id] for broker in brokers if broker.rack == rack]
        assert max(in_rack) - min(in_rack) <= 1


def test_leaders_go_round_the_racks() -> None:
    brokers = [a_broker(1, rack="a"), a_broker(2, rack="b"), a_broker(3, rack="c")]
    leaders = [replicas[0] for replicas in place_partitions(6, brokers, [])]
    assert Counter(leaders) == {1: 2, 2: 2, 3: 2}


def test_what_exists_counts_as_load() -> None:
    brokers = [a_broker(1, rack="a"), a_broker(2, rack="a"), a_broker(3, rack="b")]
    assert place_partitions(1, brokers, [[1, 3], [1, 3]]) == [[2, 3]]


def test_what_exists_counts_as_leadership_even_if_it_can_be_read_only_once() -> None:
    brokers = [a_broker(1, rack="a"), a_broker(2, rack="a"), a_broker(3, rack="b")]
    assert place_partitions(1, brokers, iter([[2, 3], [1, 3]])) == [[3, 1]]


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "x" * 249, "..."])
def test_legal_names_pass(name: str) -> None:
    check_topic_name(name)


@given(st.text("ab._", min_size=1, max_size=6), st.text("ab._", min_size=1, max_size=6))
def test_collision_is_symmetric_and_never_with_oneself(name: str, other: str) -> None:
    assert collides(name, other) == collides(other, name)
    assert not collides(name, name)


def test_an_endpoint_is_the_one_of_the_listener() -> None:
    inside, outside = Listener("INSIDE", "10.0.0.1", 9092), Listener("OUTSIDE", "example.org", 443)
    broker = a_broker(1, listeners=[inside, outside])
    assert endpoint(broker, "OUTSIDE") is outside
    assert endpoint(broker, "INSIDE") is inside


def test_an_unknown_listener_falls_back_to_the_first() -> None:
    inside, outside = Listener("INSIDE", "10.0.0.1", 9092), Listener("OUTSIDE", "example.org", 443)
    assert endpoint(a_broker(1, listeners=[inside, outside]), "OTHER") is inside


def test_a_broker_without_listeners_has_no_endpoint() -> None:
    assert endpoint(a_broker(1, listeners=[]), "INSIDE") is None


def test_a_groups_coordinator_is_the_same_in_every_process() -> None:
    brokers = [a_broker(1), a_broker(2), a_broker(3)]
    assert [coordinator_of(f"group-{index}", brokers).broker_id for index in range(6)] == [3, 1, 1, 3, 2, 3]


def test_groups_are_spread_over_all_brokers() -> None:
    brokers = [a_broker(1), a_broker(2), a_broker(3)]
    chosen = Counter(coordinator_of(f"group-{index}", brokers).broker_id for index in range(3000))
    assert sorted(chosen) == [1, 2, 3]
    assert min(chosen.values()) > 900


@given(brokers=BROKERS, key=st.text())
def test_a_broker_that_goes_moves_only_its_own_groups(brokers: list[BrokerRegistration], key: str) -> None:
    chosen = coordinator_of(key, brokers)
    for gone in brokers:
        others = [broker for broker in brokers if broker is not gone]
        if gone is not chosen and others:
            assert coordinator_of(key, others) is chosen

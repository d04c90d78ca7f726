"""DescribeCluster and FindCoordinator."""

import pytest

from inkless.coordinator.types import Listener
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import DescribeClusterRequest, FindCoordinatorRequest
from inkless.protocol.wire_types import INT32_MIN
from support.cluster_parts import a_broker
from support.handler_broker import HandlerBroker

GROUP, TRANSACTION, SHARE = 0, 1, 2


@pytest.mark.parametrize("version", range(3))
async def test_the_cluster_is_described_in_every_version(broker: HandlerBroker, version: int) -> None:
    outside = [Listener("PLAINTEXT", "inside", 1), Listener("OUTSIDE", "example.org", 443)]
    await broker.parts.add_brokers(a_broker(7, rack="a", listeners=outside))
    response = await broker.ask(DescribeClusterRequest(), version=version, listener="OUTSIDE")
    assert response.cluster_id == broker.context.cluster_id
    assert response.controller_id == 0
    assert [(each.broker_id, each.host, each.port, each.rack) for each in response.brokers] == [
        (0, "host-0", 9092, None),
        (7, "example.org", 443, "a"),
    ]
    assert response.cluster_authorized_operations == INT32_MIN


async def test_everything_is_allowed_to_everyone(broker: HandlerBroker) -> None:
    response = await broker.ask(DescribeClusterRequest(include_cluster_authorized_operations=True))
    assert response.cluster_authorized_operations == 8096


@pytest.mark.parametrize(
    ("endpoint_type", "code"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
async def test_there_are_only_brokers(broker: HandlerBroker, endpoint_type: int, code: ErrorCode) -> None:
    response = await broker.ask(DescribeClusterRequest(endpoint_type=endpoint_type))
    assert (response.error_code, response.endpoint_type) == (code, endpoint_type)


@pytest.mark.parametrize("version", range(7))
async def test_a_groups_coordinator_is_found_in_every_version(broker: HandlerBroker, version: int) -> None:
    await broker.parts.add_brokers(a_broker(1), a_broker(2))
    if version >= 4:
        request = FindCoordinatorRequest(coordinator_keys=["group-0", "group-2"])
        found, other = (await broker.ask(request, version=version)).coordinators
        assert (found.key, other.key) == ("group-0", "group-2")
        assert other.node_id != found.node_id
    else:
        found = await broker.ask(FindCoordinatorRequest(key="group-0"), version=version)
    assert found.error_code == ErrorCode.NONE
    assert (found.node_id, found.host, found.port) == (2, "host-2", 9092)


@pytest.mark.parametrize("version", [1, 3, 4, 6])
@pytest.mark.parametrize(
    ("key_type", "code"),
    [
        (TRANSACTION, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (SHARE, ErrorCode.INVALID_REQUEST),
        (9, ErrorCode.INVALID_REQUEST),
    ],
)
async def test_only_groups_have_coordinators(
    broker: HandlerBroker, version: int, key_type: int, code: ErrorCode
) -> None:
    if version >= 4:
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["x"])
        (answer,) = (await broker.ask(request, version=version)).coordinators
    else:
        answer = await broker.ask(FindCoordinatorRequest(key="x", key_type=key_type), version=version)
    assert (answer.error_code, answer.node_id) == (code, -1)
    assert answer.error_message


async def test_a_coordinator_without_address_is_not_available(broker: HandlerBroker) -> None:
    await broker.parts.add_brokers(a_broker(1, listeners=[]), a_broker(2, listeners=[]))
    request = FindCoordinatorRequest(coordinator_keys=["group-2"])
    (answer,) = (await broker.ask(request)).coordinators
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE

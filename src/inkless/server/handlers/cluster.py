"""DescribeCluster and FindCoordinator: who is there, and whom to ask."""

from enum import IntEnum

from inkless.cluster.coordinators import coordinator_of
from inkless.cluster.endpoints import endpoint
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    Coordinator,
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from inkless.protocol.wire_types import INT32_MIN
from inkless.server.context import BrokerContext
from inkless.server.exchange import Exchange
from inkless.server.handlers.operations import CLUSTER_OPERATIONS

_BROKERS = 1
_CONTROLLERS = 2
_BATCHED_SINCE = 4


class KeyType(IntEnum):
    """What a coordinator is looked up for."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


async def handle_describe_cluster(
    broker: BrokerContext, exchange: Exchange, request: DescribeClusterRequest
) -> DescribeClusterResponse:
    """The living brokers, each under the listener through which the client came."""
    if request.endpoint_type != _BROKERS:
        return _wrong_endpoint_type(request.endpoint_type)
    await broker.membership.look_around()
    described = []
    for member in broker.membership.brokers:
        address = endpoint(member, exchange.listener)
        if address is not None:
            described.append(
                DescribeClusterBroker(
                    broker_id=member.broker_id, host=address.host, port=address.port, rack=member.rack
                )
            )
    asked_operations = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        cluster_id=broker.cluster_id,
        controller_id=broker.membership.controller_id,
        brokers=described,
        cluster_authorized_operations=CLUSTER_OPERATIONS if asked_operations else INT32_MIN,
    )


async def handle_find_coordinator(
    broker: BrokerContext, exchange: Exchange, request: FindCoordinatorRequest
) -> FindCoordinatorResponse:
    """One answer for each key; before version 4 there is exactly one."""
    await broker.membership.look_around()
    if exchange.version >= _BATCHED_SINCE:
        keys = request.coordinator_keys
        return FindCoordinatorResponse(
            coordinators=[_coordinator(broker, exchange, key, request.key_type) for key in keys]
        )
    found = _coordinator(broker, exchange, request.key, request.key_type)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _wrong_endpoint_type(endpoint_type: int) -> DescribeClusterResponse:
    if endpoint_type == _CONTROLLERS:
        code, message = ErrorCode.MISMATCHED_ENDPOINT_TYPE, "There are no controllers here, only brokers."
    else:
        code, message = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {endpoint_type}"
    return DescribeClusterResponse(error_code=code, error_message=message, endpoint_type=endpoint_type)


def _coordinator(broker: BrokerContext, exchange: Exchange, key: str, key_type: int) -> Coordinator:
    if key_type == KeyType.TRANSACTION:
        # Both the Java client and librdkafka give up for good on this code and go on trying on almost every
        # other; librdkafka shows the message as well.
        return _no_coordinator(
            key,
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "Transactions are not supported by this cluster; remove transactional.id from the producer.",
        )
    if key_type != KeyType.GROUP:
        return _no_coordinator(key, ErrorCode.INVALID_REQUEST, f"No coordinators of type {key_type} here.")
    member = coordinator_of(key, broker.membership.brokers)
    address = endpoint(member, exchange.listener)
    if address is None:
        return _no_coordinator(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator has no address.")
    return Coordinator(key=key, node_id=member.broker_id, host=address.host, port=address.port)


def _no_coordinator(key: str, code: ErrorCode, message: str) -> Coordinator:
    return Coordinator(key=key, node_id=-1, port=-1, error_code=code, error_message=message)

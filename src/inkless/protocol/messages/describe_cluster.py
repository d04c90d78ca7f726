"""Describe Cluster: request and response."""

from collections.abc import Sequence
from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import INT32_MIN, Bool, Int8, Int16, Int32, String, since


@request(ApiKey.DESCRIBE_CLUSTER, versions=(0, 2), flexible_from=0)
class DescribeClusterRequest:
    include_cluster_authorized_operations: Bool = False
    endpoint_type: Annotated[Int8, since(1)] = 1
    include_fenced_brokers: Annotated[Bool, since(2)] = False


@struct
class DescribeClusterBroker:
    broker_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: String | None = None
    is_fenced: Annotated[Bool, since(2)] = False


@response(ApiKey.DESCRIBE_CLUSTER, versions=(0, 2), flexible_from=0)
class DescribeClusterResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
    endpoint_type: Annotated[Int8, since(1)] = 1
    cluster_id: String = ""
    controller_id: Int32 = -1
    brokers: Sequence[DescribeClusterBroker] = ()
    cluster_authorized_operations: Int32 = INT32_MIN

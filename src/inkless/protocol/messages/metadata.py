"""Metadata: request and response."""

from collections.abc import Sequence
from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import (
    INT32_MIN,
    NO_UUID,
    Bool,
    Int16,
    Int32,
    String,
    Uuid,
    between,
    nullable_since,
    since,
)


@struct
class MetadataRequestTopic:
    topic_id: Annotated[Uuid, since(10)] = NO_UUID
    name: Annotated[String | None, nullable_since(10)] = ""


@request(ApiKey.METADATA, versions=(0, 13), flexible_from=9)
class MetadataRequest:
    topics: Annotated[Sequence[MetadataRequestTopic] | None, nullable_since(1)] = ()
    allow_auto_topic_creation: Annotated[Bool, since(4)] = True
    include_cluster_authorized_operations: Annotated[Bool, between(8, 10)] = False
    include_topic_authorized_operations: Annotated[Bool, since(8)] = False


@struct
class MetadataResponsePartition:
    error_code: Int16 = 0
    partition_index: Int32 = 0
    leader_id: Int32 = 0
    leader_epoch: Annotated[Int32, since(7)] = -1
    replica_nodes: Sequence[Int32] = ()
    isr_nodes: Sequence[Int32] = ()
    offline_replicas: Annotated[Sequence[Int32], since(5)] = ()


@struct
class MetadataResponseTopic:
    error_code: Int16 = 0
    name: Annotated[String | None, nullable_since(12)] = ""
    topic_id: Annotated[Uuid, since(10)] = NO_UUID
    is_internal: Annotated[Bool, since(1)] = False
    partitions: Sequence[MetadataResponsePartition] = ()
    topic_authorized_operations: Annotated[Int32, since(8)] = INT32_MIN


@struct
class MetadataResponseBroker:
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: Annotated[String | None, since(1)] = None


@response(ApiKey.METADATA, versions=(0, 13), flexible_from=9)
class MetadataResponse:
    throttle_time_ms: Annotated[Int32, since(3)] = 0
    brokers: Sequence[MetadataResponseBroker] = ()
    cluster_id: Annotated[String | None, since(2)] = None
    controller_id: Annotated[Int32, since(1)] = -1
    topics: Sequence[MetadataResponseTopic] = ()
    cluster_authorized_operations: Annotated[Int32, between(8, 10)] = INT32_MIN
    error_code: Annotated[Int16, since(13)] = 0

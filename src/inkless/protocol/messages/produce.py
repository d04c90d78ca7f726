"""Produce: request and response."""

from collections.abc import Sequence
from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.messages.leaders import LeaderIdAndEpoch, NodeEndpoint
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import (
    NO_UUID,
    Int16,
    Int32,
    Int64,
    RecordsView,
    String,
    Uuid,
    since,
    tag,
    until,
)


@struct
class PartitionProduceData:
    index: Int32 = 0
    records: RecordsView | None = None


@struct
class TopicProduceData:
    name: Annotated[String, until(12)] = ""
    topic_id: Annotated[Uuid, since(13)] = NO_UUID
    partition_data: Sequence[PartitionProduceData] = ()


@request(ApiKey.PRODUCE, versions=(0, 13), flexible_from=9)
class ProduceRequest:
    transactional_id: Annotated[String | None, since(3)] = None
    acks: Int16 = 0
    timeout_ms: Int32 = 0
    topic_data: Sequence[TopicProduceData] = ()


@struct
class BatchIndexAndErrorMessage:
    batch_index: Int32 = 0
    batch_index_error_message: String | None = None


@struct
class PartitionProduceResponse:
    index: Int32 = 0
    error_code: Int16 = 0
    base_offset: Int64 = 0
    log_append_time_ms: Annotated[Int64, since(2)] = -1
    log_start_offset: Annotated[Int64, since(5)] = -1
    record_errors: Annotated[Sequence[BatchIndexAndErrorMessage], since(8)] = ()
    error_message: Annotated[String | None, since(8)] = None
    current_leader: Annotated[LeaderIdAndEpoch | None, since(10), tag(0)] = None


@struct
class TopicProduceResponse:
    name: Annotated[String, until(12)] = ""
    topic_id: Annotated[Uuid, since(13)] = NO_UUID
    partition_responses: Sequence[PartitionProduceResponse] = ()


@response(ApiKey.PRODUCE, versions=(0, 13), flexible_from=9)
class ProduceResponse:
    responses: Sequence[TopicProduceResponse] = ()
    throttle_time_ms: Annotated[Int32, since(1)] = 0
    node_endpoints: Annotated[Sequence[NodeEndpoint], since(10), tag(0)] = ()

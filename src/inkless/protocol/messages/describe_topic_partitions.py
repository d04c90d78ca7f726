"""Describe Topic Partitions: request and response."""

from collections.abc import Sequence

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import INT32_MIN, NO_UUID, Bool, Int16, Int32, String, Uuid


@struct
class Cursor:
    topic_name: String = ""
    partition_index: Int32 = 0


@struct
class TopicRequest:
    name: String = ""


@request(ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions=(0, 0), flexible_from=0)
class DescribeTopicPartitionsRequest:
    topics: Sequence[TopicRequest] = ()
    response_partition_limit: Int32 = 2000
    cursor: Cursor | None = None


@struct
class DescribeTopicPartitionsResponsePartition:
    error_code: Int16 = 0
    partition_index: Int32 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = -1
    replica_nodes: Sequence[Int32] = ()
    isr_nodes: Sequence[Int32] = ()
    eligible_leader_replicas: Sequence[Int32] | None = None
    last_known_elr: Sequence[Int32] | None = None
    offline_replicas: Sequence[Int32] = ()


@struct
class DescribeTopicPartitionsResponseTopic:
    error_code: Int16 = 0
    name: String | None = None
    topic_id: Uuid = NO_UUID
    is_internal: Bool = False
    partitions: Sequence[DescribeTopicPartitionsResponsePartition] = ()
    topic_authorized_operations: Int32 = INT32_MIN


@response(ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions=(0, 0), flexible_from=0)
class DescribeTopicPartitionsResponse:
    throttle_time_ms: Int32 = 0
    topics: Sequence[DescribeTopicPartitionsResponseTopic] = ()
    next_cursor: Cursor | None = None

"""Offset For Leader Epoch: request and response."""

from collections.abc import Sequence
from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import Int16, Int32, Int64, String, since


@struct
class OffsetForLeaderPartition:
    partition: Int32 = 0
    current_leader_epoch: Int32 = -1
    leader_epoch: Int32 = 0


@struct
class OffsetForLeaderTopic:
    topic: String = ""
    partitions: Sequence[OffsetForLeaderPartition] = ()


@request(ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=(2, 4), flexible_from=4)
class OffsetForLeaderEpochRequest:
    replica_id: Annotated[Int32, since(3)] = -2
    topics: Sequence[OffsetForLeaderTopic] = ()


@struct
class EpochEndOffset:
    error_code: Int16 = 0
    partition: Int32 = 0
    leader_epoch: Int32 = -1
    end_offset: Int64 = -1


@struct
class OffsetForLeaderTopicResult:
    topic: String = ""
    partitions: Sequence[EpochEndOffset] = ()


@response(ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=(2, 4), flexible_from=4)
class OffsetForLeaderEpochResponse:
    throttle_time_ms: Int32 = 0
    topics: Sequence[OffsetForLeaderTopicResult] = ()

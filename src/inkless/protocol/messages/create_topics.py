"""Create Topics: request and response."""

from collections.abc import Sequence
from typing import Annotated

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.schema import request, response, struct
from inkless.protocol.wire_types import NO_UUID, Bool, Int8, Int16, Int32, String, Uuid, since, tag


@struct
class CreatableTopicConfig:
    name: String = ""
    value: String | None = None


@struct
class CreatableReplicaAssignment:
    partition_index: Int32 = 0
    broker_ids: Sequence[Int32] = ()


@struct
class CreatableTopic:
    name: String = ""
    num_partitions: Int32 = 0
    replication_factor: Int16 = 0
    assignments: Sequence[CreatableReplicaAssignment] = ()
    configs: Sequence[CreatableTopicConfig] = ()


@request(ApiKey.CREATE_TOPICS, versions=(0, 7), flexible_from=5)
class CreateTopicsRequest:
    topics: Sequence[CreatableTopic] = ()
    timeout_ms: Int32 = 60000
    validate_only: Annotated[Bool, since(1)] = False


@struct
class CreatableTopicConfigs:
    name: String = ""
    value: String | None = None
    read_only: Bool = False
    config_source: Int8 = -1
    is_sensitive: Bool = False


@struct
class CreatableTopicResult:
    name: String = ""
    topic_id: Annotated[Uuid, since(7)] = NO_UUID
    error_code: Int16 = 0
    error_message: Annotated[String | None, since(1)] = None
    topic_config_error_code: Annotated[Int16, since(5), tag(0)] = 0
    num_partitions: Annotated[Int32, since(5)] = -1
    replication_factor: Annotated[Int16, since(5)] = -1
    configs: Annotated[Sequence[CreatableTopicConfigs] | None, since(5)] = None


@response(ApiKey.CREATE_TOPICS, versions=(0, 7), flexible_from=5)
class CreateTopicsResponse:
    throttle_time_ms: Annotated[Int32, since(2)] = 0
    topics: Sequence[CreatableTopicResult] = ()

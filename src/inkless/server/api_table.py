"""The one list of what is served. ApiVersions answers from it and the protocol page is made from it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from inkless.protocol.api_keys import ApiKey
from inkless.protocol.registry import APIS
from inkless.server.context import BrokerContext
from inkless.server.exchange import Exchange
from inkless.server.handlers import (
    api_versions,
    cluster,
    configs,
    fetch,
    groups,
    groups_admin,
    groups_offsets,
    list_offsets,
    metadata,
    offsets_and_epochs,
    produce,
    producer_ids,
    topics,
)

Handler = Callable[[BrokerContext, Exchange, Any], Any]
"""Gives a response message; a coroutine that gives one, run in the connection's turn; or None when it answers
the exchange itself later."""


class ServedApi(NamedTuple):
    """One API with its messages, the versions served, and who handles it."""

    api_key: ApiKey
    request_class: type[Any]
    response_class: type[Any]
    version_min: int
    version_max: int
    handler: Handler


def _served(handlers: dict[ApiKey, Handler]) -> dict[int, ServedApi]:
    table = {}
    for api_key, handler in sorted(handlers.items()):
        api = APIS[api_key]
        table[int(api_key)] = ServedApi(
            api_key, api.request_class, api.response_class, api.versions.first, api.versions.last, handler
        )
    return table


API_TABLE = _served(
    {
        ApiKey.PRODUCE: produce.handle_produce,
        ApiKey.FETCH: fetch.handle_fetch,
        ApiKey.LIST_OFFSETS: list_offsets.handle_list_offsets,
        ApiKey.METADATA: metadata.handle_metadata,
        ApiKey.OFFSET_COMMIT: groups_offsets.handle_offset_commit,
        ApiKey.OFFSET_FETCH: groups_offsets.handle_offset_fetch,
        ApiKey.FIND_COORDINATOR: cluster.handle_find_coordinator,
        ApiKey.JOIN_GROUP: groups.handle_join_group,
        ApiKey.HEARTBEAT: groups.handle_heartbeat,
        ApiKey.LEAVE_GROUP: groups.handle_leave_group,
        ApiKey.SYNC_GROUP: groups.handle_sync_group,
        ApiKey.DESCRIBE_GROUPS: groups_admin.handle_describe_groups,
        ApiKey.LIST_GROUPS: groups_admin.handle_list_groups,
        ApiKey.API_VERSIONS: api_versions.handle_api_versions,
        ApiKey.CREATE_TOPICS: topics.handle_create_topics,
        ApiKey.DELETE_TOPICS: topics.handle_delete_topics,
        ApiKey.DELETE_RECORDS: offsets_and_epochs.handle_delete_records,
        ApiKey.INIT_PRODUCER_ID: producer_ids.handle_init_producer_id,
        ApiKey.OFFSET_FOR_LEADER_EPOCH: offsets_and_epochs.handle_offset_for_leader_epoch,
        ApiKey.DESCRIBE_CONFIGS: configs.handle_describe_configs,
        ApiKey.ALTER_CONFIGS: configs.handle_alter_configs,
        ApiKey.CREATE_PARTITIONS: topics.handle_create_partitions,
        ApiKey.DELETE_GROUPS: groups_admin.handle_delete_groups,
        ApiKey.INCREMENTAL_ALTER_CONFIGS: configs.handle_incremental_alter_configs,
        ApiKey.OFFSET_DELETE: groups_offsets.handle_offset_delete,
        ApiKey.DESCRIBE_CLUSTER: cluster.handle_describe_cluster,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: metadata.handle_describe_topic_partitions,
    }
)

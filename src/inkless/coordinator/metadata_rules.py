"""What may become of topics and registrations; without a database, so that all backends decide alike."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from inkless.coordinator.types import BrokerRegistration, NewTopic, Topic, TopicId
from inkless.errors import RequestError
from inkless.protocol.error_codes import ErrorCode


def unknown_topic(topic_id: TopicId) -> RequestError:
    return RequestError(ErrorCode.UNKNOWN_TOPIC_ID, f"There is no topic with the id {topic_id.hex()}.")


def name_taken(name: str) -> RequestError:
    return RequestError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")


def made_topic(new: NewTopic, *, shard: int) -> Topic:
    return Topic(new.topic_id, new.name, shard, [list(ids) for ids in new.replicas], dict(new.configs))


def grown_topic(topic: Topic, *, partitions_before: int, replicas: Sequence[Sequence[int]]) -> Topic:
    """The topic with more partitions, or itself when this very change was made already."""
    added = [list(ids) for ids in replicas]
    if list(topic.replicas[partitions_before:]) == added:
        return topic
    if topic.partition_count != partitions_before:
        raise RequestError(
            ErrorCode.INVALID_PARTITIONS,
            f"Topic '{topic.name}' has {topic.partition_count} partitions, not {partitions_before}.",
        )
    return dataclasses.replace(topic, replicas=[*topic.replicas, *added])


def merge_configs(present: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """Sets keys, or removes those whose value is None."""
    merged: dict[str, str | None] = {**present, **changes}
    return {key: value for key, value in merged.items() if value is not None}


class StoredRegistration(NamedTuple):
    """A broker's row: what it announced, listeners as JSON, and until when its lease runs."""

    incarnation: bytes
    rack: str | None
    listeners: str
    lease_end_ms: int


def registered(
    before: StoredRegistration | None, broker: BrokerRegistration, *, lease_ms: int, now_ms: int
) -> tuple[StoredRegistration, bool]:
    """The row that takes or renews the lease, and whether it is news to anybody; a mere renewal is not."""
    after = StoredRegistration(
        broker.incarnation,
        broker.rack,
        json.dumps([dataclasses.asdict(listener) for listener in broker.listeners]),
        now_ms + lease_ms,
    )
    if before is None or before.lease_end_ms <= now_ms:
        return after, True
    # Only one process can listen on an address: whoever announced the same ones is gone.
    if before.incarnation != after.incarnation and before.listeners != after.listeners:
        raise RequestError(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            f"Another process holds the lease of broker {broker.broker_id}.",
        )
    return after, before[:3] != after[:3]

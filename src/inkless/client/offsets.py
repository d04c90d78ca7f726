"""ListOffsets over any number of partitions and leaders."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from inkless.client.answers import refusal
from inkless.client.cluster import Cluster
from inkless.client.connection import Connection
from inkless.client.topology import TopicPartition
from inkless.errors import RequestError
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3

CONSUMER_REPLICA_ID: Final = -1


class OffsetAnswer(NamedTuple):
    """An offset and its record's timestamp; both -1 when no record is at or after the timestamp asked for."""

    offset: int
    timestamp_ms: int


async def list_offsets(
    cluster: Cluster,
    timestamps: Mapping[TopicPartition, int],
    *,
    fatal: frozenset[ErrorCode] = frozenset(),
) -> dict[TopicPartition, OffsetAnswer]:
    """For each partition the offset at a timestamp, or at LATEST, EARLIEST or MAX_TIMESTAMP."""
    found: dict[TopicPartition, OffsetAnswer] = {}

    async def attempt() -> None:
        missing = [place for place in timestamps if place not in found]
        for leader, places in (await cluster.group_by_leader(missing)).items():
            connection = await cluster.connection_to(leader)
            asked = {place: timestamps[place] for place in places}
            await _ask(connection, asked, found, timeout_ms=cluster.settings.connection.request_timeout_ms)

    await cluster.retrying(attempt, topics={place.topic for place in timestamps}, fatal=fatal)
    return found


async def _ask(
    connection: Connection,
    timestamps: Mapping[TopicPartition, int],
    found: dict[TopicPartition, OffsetAnswer],
    *,
    timeout_ms: int,
) -> None:
    """Adds the answers of one leader to `found`; raises the first of its errors after that."""
    by_topic: dict[str, list[ListOffsetsPartition]] = {}
    for place, timestamp in timestamps.items():
        by_topic.setdefault(place.topic, []).append(
            ListOffsetsPartition(partition_index=place.partition, timestamp=timestamp)
        )
    message = ListOffsetsRequest(
        replica_id=CONSUMER_REPLICA_ID,
        topics=[ListOffsetsTopic(name=name, partitions=parts) for name, parts in by_topic.items()],
        timeout_ms=timeout_ms,
    )
    response = await connection.request(message, ListOffsetsResponse)
    refused: RequestError | None = None
    for place, code, answer in _answers(response):
        if code == ErrorCode.NONE:
            found[place] = answer
        elif refused is None:
            refused = refusal(code, f"offsets of {place}")
    if refused is not None:
        raise refused


def _answers(response: ListOffsetsResponse) -> Iterable[tuple[TopicPartition, int, OffsetAnswer]]:
    for topic in response.topics:
        for partition in topic.partitions:
            place = TopicPartition(topic.name, partition.partition_index)
            yield place, partition.error_code, OffsetAnswer(partition.offset, partition.timestamp)

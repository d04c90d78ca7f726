"""Produce requests out of batches, and what each partition's answer means for its batch."""

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Final

from inkless.client.pending import PendingBatch
from inkless.client.topology import ClusterView, TopicPartition
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from inkless.protocol.wire_types import NO_UUID
from inkless.records.compress import Codec

_VERSION_WITH_NAMES: Final = 12
"""The last one in which topics go by name; above it by id."""


class Verdict(Enum):
    """What becomes of a batch after a broker's answer."""

    STORED = auto()
    TRY_AGAIN = auto()
    REFUSED = auto()


class ProduceExchange:
    """One request, with the batches in it, at most one for each partition."""

    def __init__(
        self,
        batches: Mapping[TopicPartition, PendingBatch],
        view: ClusterView,
        *,
        codec: Codec,
        acks: int,
        timeout_ms: int,
    ) -> None:
        self.batches = batches
        by_topic: dict[str, list[PartitionProduceData]] = {}
        for place, batch in batches.items():
            by_topic.setdefault(place.topic, []).append(
                PartitionProduceData(index=place.partition, records=memoryview(batch.seal(codec)))
            )
        ids = {name: topic.topic_id for name in by_topic if (topic := view.topics.get(name)) is not None}
        self._names = {topic_id: name for name, topic_id in ids.items()}
        self.version_max = (
            None if all(ids.get(name, NO_UUID) != NO_UUID for name in by_topic) else _VERSION_WITH_NAMES
        )
        self.message = ProduceRequest(
            acks=acks,
            timeout_ms=timeout_ms,
            topic_data=[
                TopicProduceData(name=name, topic_id=ids.get(name, NO_UUID), partition_data=partitions)
                for name, partitions in by_topic.items()
            ],
        )

    def answers(self, response: ProduceResponse) -> Iterator[tuple[PendingBatch, PartitionProduceResponse]]:
        """Each batch with its answer; a batch that the broker forgot to mention is to be tried again."""
        unanswered = dict(self.batches)
        for topic in response.responses:
            name = topic.name or self._names.get(topic.topic_id, "")
            for answer in topic.partition_responses:
                batch = unanswered.pop(TopicPartition(name, answer.index), None)
                if batch is not None:
                    yield batch, answer
        for place, batch in unanswered.items():
            yield (
                batch,
                PartitionProduceResponse(index=place.partition, error_code=ErrorCode.NETWORK_EXCEPTION),
            )


def judge(code: ErrorCode, *, is_oldest: bool) -> Verdict:
    """What a code means for a batch; `is_oldest` when none that was sent before it is still unsettled."""
    if code in {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}:
        return Verdict.STORED
    if code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not is_oldest:
        # The one before it failed, and will be sent again first.
        return Verdict.TRY_AGAIN
    return Verdict.TRY_AGAIN if code.is_retriable else Verdict.REFUSED

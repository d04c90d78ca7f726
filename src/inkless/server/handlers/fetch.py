"""Fetch: full and incremental (KIP-227), by topic name and by topic id (KIP-516)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from inkless.coordinator.types import FindRequest
from inkless.errors import RequestError, Unavailable
from inkless.fetch.fetcher import PartitionBytes
from inkless.fetch.sessions import (
    FINAL_EPOCH,
    FULL_EPOCH,
    NO_SESSION_ID,
    FetchSession,
    Position,
    SessionPartition,
)
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from inkless.server.context import BrokerContext
from inkless.server.exchange import Exchange

_FIRST_VERSION_WITH_TOPIC_IDS = 13


@dataclass(slots=True)
class _Plan:
    """What is to be answered: the partitions in order, and the session they belong to, if any."""

    positions: Mapping[SessionPartition, Position]
    session: FetchSession | None
    is_incremental: bool


async def handle_fetch(broker: BrokerContext, exchange: Exchange, request: FetchRequest) -> FetchResponse:
    by_id = exchange.version >= _FIRST_VERSION_WITH_TOPIC_IDS
    try:
        plan = _plan(broker, request, by_id=by_id)
    except RequestError as error:
        return FetchResponse(error_code=error.code)
    wanted, refused = _resolve(broker, plan.positions, by_id=by_id)
    if refused:
        # Perhaps made through another broker.
        await broker.membership.catch_up()
        wanted, refused = _resolve(broker, plan.positions, by_id=by_id)
    try:
        found = await broker.fetcher.fetch(
            [find for _, find in wanted],
            bytes_max=request.max_bytes,
            bytes_min=0 if refused else request.min_bytes,
            wait_ms=0 if refused else request.max_wait_ms,
        )
    except Unavailable:
        refused += [(partition, ErrorCode.KAFKA_STORAGE_ERROR) for partition, _ in wanted]
        wanted, found = [], []
    if any(result.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for result in found):
        # Deleted through another broker.
        broker.membership.catch_up_soon()
    answers = [(partition, _refused(partition.partition, code)) for partition, code in refused]
    for (partition, _), result in zip(wanted, found, strict=True):
        if _is_news(plan, partition, result):
            answers.append((partition, _answered(partition.partition, result)))
        if plan.session is not None and result.records:
            plan.session.move_to_end(partition)
    return FetchResponse(
        session_id=plan.session.session_id if plan.session is not None else NO_SESSION_ID,
        responses=_by_topic(answers),
    )


def _plan(broker: BrokerContext, request: FetchRequest, *, by_id: bool) -> _Plan:
    wanted = {
        SessionPartition(topic.topic_id if by_id else topic.topic, partition.partition): Position(
            partition.fetch_offset, partition.partition_max_bytes
        )
        for topic in request.topics
        for partition in topic.partitions
    }
    sessions = broker.fetch_sessions
    now = broker.clock.monotonic()
    if request.session_epoch in (FINAL_EPOCH, FULL_EPOCH):
        if request.session_id != NO_SESSION_ID:
            sessions.end(request.session_id)
        session = sessions.begin(now) if request.session_epoch == FULL_EPOCH else None
        if session is not None:
            session.update(wanted, ())
        return _Plan(wanted, session, is_incremental=False)
    session = sessions.resume(request.session_id, request.session_epoch, now)
    forgotten = [
        SessionPartition(topic.topic_id if by_id else topic.topic, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    ]
    session.update(wanted, forgotten)
    return _Plan(dict(session.positions), session, is_incremental=True)


def _resolve(
    broker: BrokerContext, positions: Mapping[SessionPartition, Position], *, by_id: bool
) -> tuple[list[tuple[SessionPartition, FindRequest]], list[tuple[SessionPartition, ErrorCode]]]:
    directory = broker.directory
    wanted: list[tuple[SessionPartition, FindRequest]] = []
    refused: list[tuple[SessionPartition, ErrorCode]] = []
    for named, position in positions.items():
        topic = named.topic
        entry = directory.by_id(topic) if isinstance(topic, bytes) else directory.by_name(topic)
        partition = entry.partition(named.partition) if entry is not None else None
        if partition is not None:
            wanted.append((named, FindRequest(partition, position.fetch_offset, position.bytes_max)))
        elif entry is None and by_id:
            refused.append((named, ErrorCode.UNKNOWN_TOPIC_ID))
        else:
            refused.append((named, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    return wanted, refused


def _is_news(plan: _Plan, partition: SessionPartition, result: PartitionBytes) -> bool:
    changed = plan.session is not None and plan.session.must_tell(
        partition, high_watermark=result.high_watermark, log_start_offset=result.log_start_offset
    )
    return not plan.is_incremental or changed or bool(result.records) or result.error is not ErrorCode.NONE


def _answered(index: int, result: PartitionBytes) -> PartitionData:
    return PartitionData(
        partition_index=index,
        error_code=result.error,
        high_watermark=result.high_watermark,
        last_stable_offset=result.high_watermark,
        log_start_offset=result.log_start_offset,
        aborted_transactions=None,
        records=result.records,
    )


def _refused(index: int, code: ErrorCode) -> PartitionData:
    return PartitionData(
        partition_index=index, error_code=code, high_watermark=-1, aborted_transactions=None, records=()
    )


def _by_topic(answers: Iterable[tuple[SessionPartition, PartitionData]]) -> list[FetchableTopicResponse]:
    topics: dict[str | bytes, FetchableTopicResponse] = {}
    partitions: dict[str | bytes, list[PartitionData]] = {}
    for named, data in answers:
        if named.topic not in topics:
            partitions[named.topic] = []
            response = FetchableTopicResponse(partitions=partitions[named.topic])
            if isinstance(named.topic, bytes):
                response.topic_id = named.topic
            else:
                response.topic = named.topic
            topics[named.topic] = response
        partitions[named.topic].append(data)
    return list(topics.values())

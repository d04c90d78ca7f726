"""Produce: checks what was sent, appends it in order of arrival, answers when it is durable and ordered."""

from collections.abc import Sequence

from inkless.cluster.directory import TopicEntry
from inkless.cluster.membership import Membership
from inkless.coordinator.types import BatchFacts
from inkless.errors import RequestError
from inkless.produce.append import Append
from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from inkless.records.header import LEADER_EPOCH_AT, LENGTH_PREFIX_BYTES, BatchHeader
from inkless.records.stamp import stamp_log_append_time
from inkless.records.validate import split_batches
from inkless.server.context import BrokerContext
from inkless.server.exchange import Exchange

_LEADER_EPOCH = bytes(4)
"""Zero: leadership never decides about data here, so its epoch never changes."""
_FIRST_VERSION_WITH_TOPIC_IDS = 13
_FIRST_VERSION_WITH_ZSTD = 7
_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
"""Perhaps made through another broker. Appends keep their order of arrival, so none waits for news of it."""


class ProduceReply:
    """Gathers the outcomes of a request's partitions and answers when the last one is in."""

    __slots__ = ("_exchange", "_is_silent", "_membership", "_open", "_partitions", "_responses")

    def __init__(
        self, exchange: Exchange, responses: list[TopicProduceResponse], membership: Membership
    ) -> None:
        self._exchange = exchange
        self._is_silent = False
        self._membership = membership
        self._responses = responses
        self._partitions: list[PartitionProduceResponse] = []
        self._open = 1

    def expect(self, response: PartitionProduceResponse) -> int:
        """The place under which the partition's append is to be settled."""
        self._partitions.append(response)
        self._open += 1
        return len(self._partitions) - 1

    def answer_nothing(self) -> None:
        """For acks=0: there is no response. A client whose records failed all the same learns it by the end
        of its connection, as it would from Kafka, and asks for metadata anew."""
        self._is_silent = True
        self._exchange.reply_nothing()

    def settle(self, place: int, error: ErrorCode, base_offset: int = -1, log_start_offset: int = -1) -> None:
        response = self._partitions[place]
        response.error_code = error
        response.base_offset = base_offset
        response.log_start_offset = log_start_offset
        if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            # Deleted through another broker.
            self._membership.catch_up_soon()
        self.close()

    def close(self) -> None:
        """One of those waited for is in; the request's own walk over its partitions counts as one."""
        self._open -= 1
        if self._open:
            return
        if not self._is_silent:
            self._exchange.reply(ProduceResponse(self._responses))
        elif failed := self._first_error():
            self._exchange.refuse(f"produce without acknowledgement failed: {failed.name}")

    def _first_error(self) -> ErrorCode | None:
        codes = (partition.error_code for topic in self._responses for partition in topic.partition_responses)
        return next((ErrorCode(code) for code in codes if code), None)


def handle_produce(broker: BrokerContext, exchange: Exchange, request: ProduceRequest) -> None:
    responses: list[TopicProduceResponse] = []
    reply = ProduceReply(exchange, responses, broker.membership)
    refused = _refusal(request)
    for topic_data in request.topic_data:
        partition_responses: list[PartitionProduceResponse] = []
        responses.append(TopicProduceResponse(topic_data.name, topic_data.topic_id, partition_responses))
        entry = _find_topic(broker, exchange.version, topic_data)
        for partition_data in topic_data.partition_data:
            response = PartitionProduceResponse(partition_data.index)
            partition_responses.append(response)
            try:
                if refused is not None:
                    raise refused
                _append(broker, exchange, reply, entry, partition_data, response)
            except RequestError as error:
                if error.code in _UNKNOWN:
                    broker.membership.catch_up_soon()
                _fail(response, error)
    if request.acks == 0:
        reply.answer_nothing()
    reply.close()


def _refusal(request: ProduceRequest) -> RequestError | None:
    """What is wrong with the request as a whole."""
    if request.acks not in (-1, 0, 1):
        return RequestError(
            ErrorCode.INVALID_REQUIRED_ACKS, f"acks is {request.acks}; allowed are -1, 0 and 1"
        )
    if request.transactional_id is not None:
        return RequestError(ErrorCode.INVALID_TXN_STATE, "transactions are not supported")
    return None


def _find_topic(
    broker: BrokerContext, version: int, topic_data: TopicProduceData
) -> TopicEntry | RequestError:
    if version >= _FIRST_VERSION_WITH_TOPIC_IDS:
        entry = broker.directory.by_id(topic_data.topic_id)
        return entry or RequestError(ErrorCode.UNKNOWN_TOPIC_ID)
    return broker.directory.by_name(topic_data.name) or RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _append(
    broker: BrokerContext,
    exchange: Exchange,
    reply: ProduceReply,
    entry: TopicEntry | RequestError,
    data: PartitionProduceData,
    response: PartitionProduceResponse,
) -> None:
    if isinstance(entry, RequestError):
        raise entry
    partition = entry.partition(data.index)
    if partition is None:
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    records = data.records
    if records is None:
        raise RequestError(ErrorCode.INVALID_RECORD, "a partition without records")
    now_ms = broker.clock.now_ms()
    headers = split_batches(
        records, entry.rules, now_ms=now_ms, zstd_allowed=exchange.version >= _FIRST_VERSION_WITH_ZSTD
    )
    log_append_time = entry.rules.log_append_time
    if log_append_time:
        stamp_log_append_time(records, now_ms)
        response.log_append_time_ms = now_ms
    _set_leader_epoch(records, headers)
    # What did not arrive in memory of its own is about to be overwritten by the next requests.
    content = records if exchange.frame_is_owned else bytes(records)
    facts = [
        BatchFacts(
            header.batch_length + LENGTH_PREFIX_BYTES,
            header.last_offset_delta + 1,
            now_ms if log_append_time else header.max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
        )
        for header in headers
    ]
    broker.writer.append(Append(partition, content, facts, reply, reply.expect(response)))


def _set_leader_epoch(records: memoryview, headers: Sequence[BatchHeader]) -> None:
    position = LEADER_EPOCH_AT
    for header in headers:
        records[position : position + 4] = _LEADER_EPOCH
        position += header.batch_length + LENGTH_PREFIX_BYTES


def _fail(response: PartitionProduceResponse, error: RequestError) -> None:
    response.error_code = error.code
    response.base_offset = -1
    response.error_message = error.message
    if error.code is ErrorCode.INVALID_RECORD and error.message:
        response.record_errors = [BatchIndexAndErrorMessage(0, error.message)]

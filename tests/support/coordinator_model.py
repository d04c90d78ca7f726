"""What a coordinator must answer, written as plainly as possible: lists, dicts and loops.

It shares no code with the package: producers keep all that they ever sent, finds walk batch by batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from inkless.coordinator.types import (
    BatchFacts,
    DeleteRecordsRequest,
    FindRequest,
    ObjectCommit,
    ObjectId,
    PartitionId,
    RunResult,
)
from inkless.protocol.error_codes import ErrorCode

Span = tuple[ObjectId, int, int, int, int]
"""Object, first offset, end offset, first byte, end byte."""


@dataclass
class ModelBatch:
    run: int
    object_id: ObjectId
    base: int
    end: int
    byte_start: int
    byte_end: int
    timestamp_ms: int


@dataclass
class ModelProducer:
    epoch: int
    sent: list[tuple[int, int, int]] = field(default_factory=list)


@dataclass
class ModelLog:
    log_start: int = 0
    high_watermark: int = 0
    batches: list[ModelBatch] = field(default_factory=list)
    producers: dict[int, ModelProducer] = field(default_factory=dict)

    def judge(self, batch: BatchFacts) -> ErrorCode | int | None:
        """None when it may be appended, an error, or the offset of the batch that it repeats."""
        producer = self.producers.get(batch.producer_id)
        if batch.producer_id == -1 or producer is None:
            return None
        if batch.producer_epoch < producer.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if batch.producer_epoch > producer.epoch:
            return None if batch.base_sequence == 0 else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        last = (batch.base_sequence + batch.record_count - 1) % 2**31
        if batch.base_sequence == (producer.sent[-1][1] + 1) % 2**31:
            return None
        for first_sent, last_sent, offset in producer.sent[-5:]:
            if (first_sent, last_sent) == (batch.base_sequence, last):
                return offset
        if len(producer.sent) >= 5 and 0 < (producer.sent[-5][0] - last) % 2**31 < 2**30:
            return ErrorCode.DUPLICATE_SEQUENCE_NUMBER
        return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def remember(self, batch: BatchFacts, offset: int) -> None:
        if batch.producer_id == -1:
            return
        producer = self.producers.get(batch.producer_id)
        if producer is None or producer.epoch != batch.producer_epoch:
            producer = self.producers[batch.producer_id] = ModelProducer(batch.producer_epoch)
        last = (batch.base_sequence + batch.record_count - 1) % 2**31
        producer.sent.append((batch.base_sequence, last, offset))


class CoordinatorModel:
    def __init__(self) -> None:
        self.logs: dict[PartitionId, ModelLog] = {}
        self.answers: dict[ObjectId, list[RunResult]] = {}
        self._runs = 0

    def commit(self, commit: ObjectCommit) -> list[RunResult]:
        if commit.object_id not in self.answers:
            self.answers[commit.object_id] = [
                self._append(commit.object_id, run.partition, run.byte_start, run.batches)
                for run in commit.runs
            ]
        return self.answers[commit.object_id]

    def _append(
        self, object_id: ObjectId, partition: PartitionId, byte_start: int, batches: Sequence[BatchFacts]
    ) -> RunResult:
        log = self.logs.get(partition)
        if log is None:
            refused = dict.fromkeys(range(len(batches)), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return RunResult(partition, [-1] * len(batches), -1, -1, refused)
        offsets: list[int] = []
        errors: dict[int, ErrorCode] = {}
        duplicates: set[int] = set()
        self._runs += 1
        for index, batch in enumerate(batches):
            verdict = log.judge(batch)
            if verdict is None:
                offsets.append(log.high_watermark)
                log.remember(batch, log.high_watermark)
                end = log.high_watermark + batch.record_count
                log.batches.append(
                    ModelBatch(
                        self._runs,
                        object_id,
                        log.high_watermark,
                        end,
                        byte_start,
                        byte_start + batch.byte_length,
                        batch.max_timestamp_ms,
                    )
                )
                log.high_watermark = end
            else:
                self._runs += 1
                if isinstance(verdict, ErrorCode):
                    errors[index] = verdict
                    offsets.append(-1)
                else:
                    duplicates.add(index)
                    offsets.append(verdict)
            byte_start += batch.byte_length
        return RunResult(partition, offsets, log.log_start, log.high_watermark, errors, frozenset(duplicates))

    def find(
        self, requests: Sequence[FindRequest], bytes_max: int
    ) -> list[tuple[ErrorCode, int, int, list[Span]]]:
        found_any = False
        answers = []
        for request in requests:
            log = self.logs.get(request.partition)
            if log is None:
                answers.append((ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1, list[Span]()))
                continue
            bounds = (log.log_start, log.high_watermark)
            if not log.log_start <= request.offset <= log.high_watermark:
                answers.append((ErrorCode.OFFSET_OUT_OF_RANGE, *bounds, list[Span]()))
                continue
            left = request.bytes_max
            taken: list[ModelBatch] = []
            for batch in log.batches:
                size = batch.byte_end - batch.byte_start
                if batch.end <= request.offset:
                    continue
                if found_any and size > min(left, bytes_max):
                    break
                found_any = True
                left -= size
                bytes_max -= size
                taken.append(batch)
            answers.append((ErrorCode.NONE, *bounds, join_runs(taken)))
        return answers

    def delete_records(self, request: DeleteRecordsRequest) -> tuple[ErrorCode, int]:
        log = self.logs.get(request.partition)
        if log is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1
        offset = log.high_watermark if request.before_offset == -1 else request.before_offset
        if not 0 <= offset <= log.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE, -1
        log.log_start = max(log.log_start, offset)
        return ErrorCode.NONE, log.log_start

    def living_runs(self, partition: PartitionId) -> list[list[ModelBatch]]:
        log = self.logs[partition]
        runs: dict[int, list[ModelBatch]] = {}
        for batch in log.batches:
            runs.setdefault(batch.run, []).append(batch)
        return [run for run in runs.values() if run[-1].end > log.log_start]

    def unreferenced(self) -> set[ObjectId]:
        referenced = {run[0].object_id for partition in self.logs for run in self.living_runs(partition)}
        return self.answers.keys() - referenced


def join_runs(batches: Sequence[ModelBatch]) -> list[Span]:
    spans: dict[int, list[ModelBatch]] = {}
    for batch in batches:
        spans.setdefault(batch.run, []).append(batch)
    return [
        (run[0].object_id, run[0].base, run[-1].end, run[0].byte_start, run[-1].byte_end)
        for run in spans.values()
    ]

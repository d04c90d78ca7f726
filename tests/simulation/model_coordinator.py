"""The coordinator's model behind the coordinator's contract: no database, no threads, no waiting."""

from collections.abc import Sequence

from inkless.clock import Clock
from inkless.coordinator.types import (
    Coordinates,
    DeleteRecordsRequest,
    DeleteRecordsResult,
    FindRequest,
    FindResult,
    ObjectCommit,
    ObjectId,
    OffsetBounds,
    PartitionId,
    RunResult,
    TimestampHit,
)
from inkless.protocol.error_codes import ErrorCode
from support.coordinator_model import CoordinatorModel, ModelBatch, ModelLog, Span


class ModelCoordinator:
    """Answers as a real coordinator must, from lists and dicts; timestamps are not asked for."""

    def __init__(self, partitions: Sequence[PartitionId], *, clock: Clock) -> None:
        self._model = CoordinatorModel()
        self._model.logs = {partition: ModelLog() for partition in partitions}
        self._clock = clock
        self._objects: dict[ObjectId, tuple[ObjectCommit, int]] = {}
        self._runs: dict[tuple[ObjectId, int], list[ModelBatch]] = {}
        """The batches of a run, by its object and by the first byte of every one of them."""
        self._indexed: dict[PartitionId, int] = dict.fromkeys(partitions, 0)

    async def commit_objects(self, objects: Sequence[ObjectCommit]) -> list[list[RunResult]]:
        answers = []
        for commit in objects:
            self._objects.setdefault(commit.object_id, (commit, self._clock.now_ms()))
            answers.append(self._model.commit(commit))
            for run in commit.runs:
                self._index(run.partition)
        return answers

    def _index(self, partition: PartitionId) -> None:
        batches = self._model.logs[partition].batches
        by_run: dict[int, list[ModelBatch]] = {}
        for batch in batches[self._indexed[partition] :]:
            run = by_run.setdefault(batch.run, [])
            run.append(batch)
            self._runs[batch.object_id, batch.byte_start] = run
        self._indexed[partition] = len(batches)

    async def find_batches(self, requests: Sequence[FindRequest], *, bytes_max: int) -> list[FindResult]:
        return [
            FindResult(
                request.partition, error, log_start, high_watermark, list(map(self._coordinates, spans))
            )
            for request, (error, log_start, high_watermark, spans) in zip(
                requests, self._model.find(requests, bytes_max), strict=True
            )
        ]

    def _coordinates(self, span: Span) -> Coordinates:
        object_id, base_offset, end_offset, byte_start, byte_end = span
        commit, committed_ms = self._objects[object_id]
        run = self._runs[object_id, byte_start]
        return Coordinates(
            object_id=object_id,
            key=commit.key,
            object_byte_length=commit.byte_length,
            committed_ms=committed_ms,
            run_byte_start=run[0].byte_start,
            run_byte_end=run[-1].byte_end,
            run_base_offset=run[0].base,
            byte_start=byte_start,
            byte_end=byte_end,
            base_offset=base_offset,
            end_offset=end_offset,
        )

    async def offset_bounds(self, partitions: Sequence[PartitionId]) -> list[OffsetBounds]:
        logs = [(partition, self._model.logs[partition]) for partition in partitions]
        return [
            OffsetBounds(partition, ErrorCode.NONE, log.log_start, log.high_watermark)
            for partition, log in logs
        ]

    async def delete_records(self, requests: Sequence[DeleteRecordsRequest]) -> list[DeleteRecordsResult]:
        return [
            DeleteRecordsResult(request.partition, *self._model.delete_records(request))
            for request in requests
        ]

    async def find_by_timestamp(self, lookups: Sequence[tuple[PartitionId, int]]) -> list[TimestampHit]:
        raise NotImplementedError

    async def find_max_timestamp(self, partitions: Sequence[PartitionId]) -> list[TimestampHit]:
        raise NotImplementedError

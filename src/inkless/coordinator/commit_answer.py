"""The answer of a commit as a small blob, kept so that a repeated commit gets the first answer again.

The repetition brings the runs with it, so a run of which every batch was accepted is stored as its first
offset and its log start; only runs with refused or repeated batches are stored in full.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, islice

from inkless.coordinator.packed_integers import pack_integers, unpack_integers
from inkless.coordinator.types import ObjectCommit, RunCommit, RunResult
from inkless.errors import InvariantViolated
from inkless.protocol.error_codes import ErrorCode

_ACCEPTED, _IN_FULL = 0, 1


def pack_answer(results: Sequence[RunResult]) -> bytes:
    numbers = [len(results)]
    for result in results:
        if result.errors or result.duplicates or not result.base_offsets:
            numbers += _in_full(result)
        else:
            numbers += (_ACCEPTED, result.base_offsets[0], result.log_start_offset)
    return pack_integers(numbers)


def _in_full(result: RunResult) -> list[int]:
    errors = [number for item in result.errors.items() for number in item]
    return [
        _IN_FULL,
        result.log_start_offset,
        result.high_watermark,
        *(len(result.base_offsets), *result.base_offsets),
        *(len(errors), *errors),
        *(len(result.duplicates), *sorted(result.duplicates)),
    ]


def unpack_answer(blob: bytes, commit: ObjectCommit) -> list[RunResult]:
    """The first answer to `commit`. InvariantViolated when the commit is not the one that was answered."""
    numbers = iter(unpack_integers(blob))
    if next(numbers) != len(commit.runs):
        raise InvariantViolated(f"object {commit.object_id.hex()} was committed before with other runs")
    return [_unpack_run(numbers, run) for run in commit.runs]


def _unpack_run(numbers: Iterator[int], run: RunCommit) -> RunResult:
    if next(numbers) == _ACCEPTED:
        base_offset, log_start = next(numbers), next(numbers)
        ends = list(accumulate((batch.record_count for batch in run.batches), initial=base_offset))
        return RunResult(run.partition, ends[:-1], log_start, ends[-1])
    log_start, high_watermark = next(numbers), next(numbers)
    base_offsets = list(islice(numbers, next(numbers)))
    errors = list(islice(numbers, next(numbers)))
    duplicates = frozenset(islice(numbers, next(numbers)))
    codes = {position: ErrorCode(code) for position, code in zip(errors[::2], errors[1::2], strict=True)}
    return RunResult(run.partition, base_offsets, log_start, high_watermark, codes, duplicates)


def forgotten_answer(commit: ObjectCommit) -> list[RunResult]:
    """For a repetition that comes after the answer was forgotten: committed, at offsets no longer known."""
    return [
        RunResult(
            run.partition, [-1] * len(run.batches), -1, -1, duplicates=frozenset(range(len(run.batches)))
        )
        for run in commit.runs
    ]

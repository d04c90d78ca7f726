"""What every control plane promises when many callers and several processes use it at once."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

from inkless.coordinator.contract import ControlPlane
from inkless.coordinator.types import (
    BatchFacts,
    FindRequest,
    ObjectCommit,
    ObjectId,
    PartitionId,
    RunCommit,
    Topic,
)
from support import coordinator_process
from support.coordinator_commits import new_topic, object_of, plain, sequenced

PLENTY = 1 << 30


async def committing_process(url: str, topic: Topic, *, objects: int, callers: int) -> Process:
    script = Path(coordinator_process.__file__)
    arguments = [url, topic.topic_id.hex(), topic.partition_count, objects, callers]
    return await asyncio.create_subprocess_exec(sys.executable, script, *map(str, arguments), stdout=PIPE)


async def test_many_callers_get_dense_and_unique_offsets(control_plane: ControlPlane) -> None:
    topic = await control_plane.create_topic(new_topic("events", 2))
    partitions = [PartitionId(topic.shard, topic.topic_id, index) for index in range(2)]
    answers = await asyncio.gather(
        *(
            control_plane.commit_objects([object_of({each: [plain(2), plain(1)] for each in partitions})])
            for _ in range(200)
        )
    )
    for number in range(2):
        offsets = sorted(offset for ((*runs,),) in answers for offset in runs[number].base_offsets)
        assert offsets == sorted([*range(0, 600, 3), *range(2, 600, 3)])


async def test_calls_of_one_caller_are_carried_out_in_their_order(control_plane: ControlPlane) -> None:
    topic = await control_plane.create_topic(new_topic("events"))
    partition = PartitionId(topic.shard, topic.topic_id, 0)
    answers = await asyncio.gather(
        *(control_plane.commit_objects([object_of({partition: [sequenced(number)]})]) for number in range(50))
    )
    assert [list(run.base_offsets) for ((run,),) in answers] == [[number] for number in range(50)]


async def test_two_processes_get_dense_and_unique_offsets(
    control_plane: ControlPlane, control_plane_url: str
) -> None:
    topic = await control_plane.create_topic(new_topic("events", 2))
    processes = [await committing_process(control_plane_url, topic, objects=150, callers=8) for _ in range(2)]
    outputs = [(await process.communicate())[0].decode() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    lines = [line.split() for output in outputs for line in output.splitlines()]
    for number in (1, 2):
        assert sorted(int(line[number]) for line in lines) == list(range(0, 900, 3))
    await _assert_readable(control_plane, topic, lines)


async def test_killed_process_loses_no_acknowledged_commit(
    control_plane: ControlPlane, control_plane_url: str
) -> None:
    topic = await control_plane.create_topic(new_topic("events", 2))
    process = await committing_process(control_plane_url, topic, objects=100_000, callers=8)
    assert process.stdout is not None
    acknowledged = [(await process.stdout.readline()).split() for _ in range(100)]
    process.kill()
    acknowledged += [line.split() for line in (await process.stdout.read()).splitlines(keepends=True)[:-1]]
    assert await process.wait() == -9
    lines = [[word.decode() for word in line] for line in acknowledged]
    await _assert_readable(control_plane, topic, lines)
    await _assert_repeated_commits_get_their_first_answer(control_plane, topic, lines)


async def _assert_readable(plane: ControlPlane, topic: Topic, lines: list[list[str]]) -> None:
    for number in range(topic.partition_count):
        partition = PartitionId(topic.shard, topic.topic_id, number)
        (found,) = await plane.find_batches([FindRequest(partition, 0, PLENTY)], bytes_max=PLENTY)
        offsets = {each.object_id.hex(): each.base_offset for each in found.coordinates}
        assert sorted(offsets.values()) == list(range(0, found.high_watermark, 3))
        assert {line[0]: int(line[1 + number]) for line in lines}.items() <= offsets.items()


async def _assert_repeated_commits_get_their_first_answer(
    plane: ControlPlane, topic: Topic, lines: list[list[str]]
) -> None:
    for object_id, *offsets in lines[-20:]:
        runs = [
            RunCommit(PartitionId(topic.shard, topic.topic_id, number), number * 100, [BatchFacts(100, 3, 1)])
            for number in range(topic.partition_count)
        ]
        repeated = ObjectCommit(ObjectId(bytes.fromhex(object_id)), object_id, 200, 1, runs)
        (answer,) = await plane.commit_objects([repeated])
        assert [run.base_offsets[0] for run in answer] == list(map(int, offsets))

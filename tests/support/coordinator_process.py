"""A process of its own that commits objects and says so, line by line: `<object id> <first offset>`.

python coordinator_process.py <control plane url> <topic id> <partitions> <objects> <callers>
"""

import asyncio
import sys

from inkless.clock import SystemClock, SystemEntropy
from inkless.coordinator.open import open_control_plane
from inkless.coordinator.types import BatchFacts, ObjectCommit, ObjectId, PartitionId, RunCommit, TopicId


async def commit_objects(url: str, topic_id: TopicId, *, partitions: int, objects: int, callers: int) -> None:
    entropy = SystemEntropy()
    plane = await open_control_plane(url, clock=SystemClock(), entropy=entropy)
    numbers = iter(range(objects))

    async def commit_some() -> None:
        for _ in numbers:
            object_id = ObjectId(entropy.new_id())
            runs = [
                RunCommit(PartitionId(0, topic_id, index), index * 100, [BatchFacts(100, 3, 1)])
                for index in range(partitions)
            ]
            answer = await plane.commit_objects(
                [ObjectCommit(object_id, object_id.hex(), 100 * partitions, 1, runs)]
            )
            print(object_id.hex(), *(run.base_offsets[0] for run in answer[0]), flush=True)

    await asyncio.gather(*(commit_some() for _ in range(callers)))
    await plane.close()


if __name__ == "__main__":
    url, topic_id, partitions, objects, callers = sys.argv[1:]
    asyncio.run(
        commit_objects(
            url,
            TopicId(bytes.fromhex(topic_id)),
            partitions=int(partitions),
            objects=int(objects),
            callers=int(callers),
        )
    )

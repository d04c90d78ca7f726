"""Notices of commits as text."""

import pytest

from inkless.coordinator.postgres.notices import pack_notice, unpack_notice
from inkless.coordinator.types import PartitionId
from support.coordinator_commits import new_topic_id

FIRST, SECOND = sorted([new_topic_id(), new_topic_id()])


@pytest.mark.parametrize(
    "partitions",
    [
        [PartitionId(0, FIRST, 3)],
        [PartitionId(0, FIRST, 3), PartitionId(0, FIRST, 10), PartitionId(0, SECOND, 0)],
        [PartitionId(0, FIRST, 3), PartitionId(2, FIRST, 3)],
    ],
)
def test_notice_names_sender_and_partitions(partitions: list[PartitionId]) -> None:
    assert unpack_notice(pack_notice("me", partitions[::-1])) == ("me", partitions)


def test_notice_of_too_many_partitions_names_none() -> None:
    notice = pack_notice("me", [PartitionId(0, FIRST, index) for index in range(10_000)])
    assert len(notice.encode()) < 8_000
    assert unpack_notice(notice) == ("me", None)


@pytest.mark.parametrize("notice", ["", "me", "me|", "me|x", "me|0.zz.1", "me|0.00.1,x", "me|a.b.c.d"])
def test_notice_that_nobody_understands_means_anything(notice: str) -> None:
    assert unpack_notice(notice)[1] is None

"""A topic as `inkless topics describe` shows it."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inkless.cli.config_report import config_json, config_table
from inkless.cli.tables import format_fields, format_table
from inkless.client.admin import ConfigEntry
from inkless.client.topology import PartitionView, TopicView


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Half-open: `latest` is the offset that the next record will get."""

    earliest: int
    latest: int


@dataclass(frozen=True, slots=True)
class TopicReport:
    """A topic, where its partitions begin and end, and what was set on it.

    `offsets` lacks the partitions whose leader did not answer.
    """

    topic: TopicView
    offsets: Mapping[int, OffsetRange]
    configs: Sequence[ConfigEntry]

    def as_json(self) -> dict[str, Any]:
        return {
            **topic_json(self.topic),
            "partitions": [self._partition_json(part) for part in self.topic.partitions.values()],
            "configs": config_json(self.configs),
        }

    def as_text(self) -> str:
        head = format_fields(
            [
                ("topic", self.topic.name),
                ("id", format_topic_id(self.topic)),
                ("partitions", len(self.topic.partitions)),
            ]
        )
        table = format_table(
            ["partition", "leader", "replicas", "earliest", "latest", "records"],
            [self._partition_row(part) for part in self.topic.partitions.values()],
        )
        configs = config_table(self.configs) if self.configs else "no configs set; --all shows the defaults"
        return f"{head}\n\n{table}\n\n{configs}"

    def _partition_row(self, part: PartitionView) -> list[str | int | None]:
        bounds = self.offsets.get(part.index)
        return [
            part.index,
            part.leader_id if part.leader_id >= 0 else None,
            ",".join(map(str, part.replicas)),
            bounds.earliest if bounds else None,
            bounds.latest if bounds else None,
            bounds.latest - bounds.earliest if bounds else None,
        ]

    def _partition_json(self, part: PartitionView) -> dict[str, Any]:
        bounds = self.offsets.get(part.index)
        return {
            "partition": part.index,
            "leader": part.leader_id,
            "leader_epoch": part.leader_epoch,
            "replicas": list(part.replicas),
            "in_sync": list(part.in_sync),
            "earliest_offset": bounds.earliest if bounds else None,
            "latest_offset": bounds.latest if bounds else None,
        }


def topic_json(topic: TopicView) -> dict[str, Any]:
    return {"name": topic.name, "id": format_topic_id(topic), "internal": topic.is_internal}


def format_topic_id(topic: TopicView) -> str | None:
    """As Kafka's own tools write it: URL-safe base64 without padding."""
    if not topic.has_id:
        return None
    return base64.urlsafe_b64encode(topic.topic_id).rstrip(b"=").decode()

"""The rules under which topics are made, changed and deleted, whoever asks for it.

Every change is checked here, then made in the cluster metadata, then put into this broker's directory, so
that the client that asked sees it in its next request. A check that fails, or a database that refuses,
raises `RequestError`; a database that does not answer raises `Unavailable`, and whether the change was made
shows at the next refresh.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inkless.clock import Entropy
from inkless.cluster.directory import TopicDirectory, TopicEntry
from inkless.cluster.membership import Membership
from inkless.cluster.placement import place_partitions
from inkless.cluster.topic_names import check_topic_name, collides
from inkless.coordinator.contract import ClusterMetadata
from inkless.coordinator.types import NewTopic, TopicId
from inkless.errors import RequestError
from inkless.protocol.error_codes import ErrorCode
from inkless.settings.server import ServerSettings
from inkless.settings.topics import validate_topic_configs

BROKER_DEFAULT = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedTopic:
    """A topic as a client asks for it; `BROKER_DEFAULT` leaves a number to the broker."""

    name: str
    partition_count: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    has_assignments: bool = False
    configs: Mapping[str, str | None] = field(default_factory=dict)


class TopicChanges:
    """Makes, changes and deletes topics.

    The limits hold for the directory as this broker knows it: brokers that create at the same moment can
    pass `topics_max` by a few, which a limit against runaway clients allows.
    """

    def __init__(
        self,
        *,
        metadata: ClusterMetadata,
        directory: TopicDirectory,
        membership: Membership,
        settings: ServerSettings,
        entropy: Entropy,
    ) -> None:
        self._metadata = metadata
        self._directory = directory
        self._membership = membership
        self._settings = settings
        self._entropy = entropy

    def plan(self, wanted: WantedTopic) -> NewTopic:
        """The topic that `create` would make; all checks, no change."""
        check_topic_name(wanted.name)
        self._check_is_new(wanted.name)
        _check_replicas_are_ours(wanted.replication_factor, has_assignments=wanted.has_assignments)
        count = wanted.partition_count
        if count == BROKER_DEFAULT:
            count = self._settings.partitions_default
        self._check_partition_count(count)
        configs = validate_topic_configs(wanted.configs)
        if len(self._directory) >= self._settings.topics_max:
            raise RequestError(
                ErrorCode.POLICY_VIOLATION, f"The cluster has its {self._settings.topics_max} topics already"
            )
        return NewTopic(
            topic_id=TopicId(self._entropy.new_id()),
            name=wanted.name,
            replicas=self._place(count),
            configs=configs,
        )

    async def create(self, wanted: WantedTopic) -> TopicEntry:
        """RequestError TOPIC_ALREADY_EXISTS, INVALID_TOPIC_EXCEPTION, INVALID_PARTITIONS,
        INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT, INVALID_CONFIG, POLICY_VIOLATION."""
        return self._directory.put(await self._metadata.create_topic(self.plan(wanted)))

    async def create_automatically(self, name: str) -> TopicEntry:
        """The topic of that name, made with all defaults if nobody has made it yet."""
        check_topic_name(name)
        await self._membership.refresh()
        existing = self._directory.by_name(name)
        if existing is not None:
            return existing
        try:
            return await self.create(WantedTopic(name=name))
        except RequestError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
        await self._directory.refresh()
        made_by_another = self._directory.by_name(name)
        if made_by_another is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{name}' was deleted just now")
        return made_by_another

    async def delete(self, entry: TopicEntry) -> None:
        """RequestError TOPIC_DELETION_DISABLED, UNKNOWN_TOPIC_ID."""
        if not self._settings.delete_topic_enable:
            raise RequestError(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false")
        topic_id = entry.topic.topic_id
        try:
            await self._metadata.delete_topic(topic_id)
        except RequestError as error:
            if error.code is ErrorCode.UNKNOWN_TOPIC_ID:
                self._directory.remove(topic_id)
            raise
        self._directory.remove(topic_id)

    async def add_partitions(
        self,
        entry: TopicEntry,
        total_count: int,
        *,
        has_assignments: bool = False,
        validate_only: bool = False,
    ) -> TopicEntry:
        """The topic with `total_count` partitions; RequestError INVALID_PARTITIONS,
        INVALID_REPLICA_ASSIGNMENT, UNKNOWN_TOPIC_ID."""
        _check_replicas_are_ours(BROKER_DEFAULT, has_assignments=has_assignments)
        current_count = entry.topic.partition_count
        if total_count <= current_count:
            raise RequestError(
                ErrorCode.INVALID_PARTITIONS,
                f"The topic has {current_count} partition(s) already; {total_count} is not more",
            )
        self._check_partition_count(total_count)
        if validate_only:
            return entry
        topic = await self._metadata.add_partitions(
            entry.topic.topic_id,
            partitions_before=current_count,
            replicas=self._place(total_count - current_count),
        )
        return self._directory.put(topic)

    async def alter_configs(
        self, entry: TopicEntry, changes: Mapping[str, str | None], *, validate_only: bool = False
    ) -> TopicEntry:
        """Sets configs, and removes those whose value is None; RequestError INVALID_CONFIG,
        UNKNOWN_TOPIC_ID. To remove what is not set, or not known, is no error, as in Kafka."""
        checked = validate_topic_configs({name: text for name, text in changes.items() if text is not None})
        if validate_only:
            return entry
        removed = dict.fromkeys(name for name, text in changes.items() if text is None)
        topic = await self._metadata.alter_topic_configs(entry.topic.topic_id, {**removed, **checked})
        return self._directory.put(topic)

    def _check_is_new(self, name: str) -> None:
        if self._directory.by_name(name) is not None:
            raise RequestError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        if "." not in name and "_" not in name:
            return
        for entry in self._directory.all():
            if collides(name, entry.topic.name):
                raise RequestError(
                    ErrorCode.INVALID_TOPIC_EXCEPTION,
                    f"Topic '{name}' collides with existing topic: {entry.topic.name}",
                )

    def _check_partition_count(self, count: int) -> None:
        if count < 1:
            raise RequestError(
                ErrorCode.INVALID_PARTITIONS,
                "Number of partitions must be larger than 0, or -1 to use the default value.",
            )
        if count > self._settings.partitions_per_topic_max:
            raise RequestError(
                ErrorCode.INVALID_PARTITIONS,
                f"{count} partitions are more than the {self._settings.partitions_per_topic_max} "
                f"that inkless.topic.max.partitions allows",
            )

    def _place(self, count: int) -> Sequence[Sequence[int]]:
        existing = (replicas for entry in self._directory.all() for replicas in entry.topic.replicas)
        return place_partitions(count, self._membership.brokers, existing)


def _check_replicas_are_ours(replication_factor: int, *, has_assignments: bool) -> None:
    """Replicas hold no data, so that their number and their places are the cluster's own affair."""
    if has_assignments:
        raise RequestError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The replicas of a diskless topic are placed by the cluster; leave the assignment out",
        )
    if replication_factor not in (BROKER_DEFAULT, 1):
        raise RequestError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor of a diskless topic cannot be {replication_factor}: its data is as "
            "durable as the object storage, and it has one replica in every rack. Use -1 or 1",
        )

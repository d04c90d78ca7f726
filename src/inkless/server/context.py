"""What every handler is given: the parts of the broker, wired by `compose`."""

from dataclasses import dataclass

from inkless.clock import Clock, Entropy
from inkless.cluster.directory import TopicDirectory
from inkless.cluster.membership import Membership
from inkless.cluster.producer_ids import ProducerIds
from inkless.cluster.topic_changes import TopicChanges
from inkless.coordinator.contract import ControlPlane
from inkless.fetch.fetcher import Fetcher
from inkless.fetch.reader import RunReader
from inkless.fetch.sessions import FetchSessions
from inkless.fetch.timestamps import TimestampSearch
from inkless.groups.coordinator import GroupCoordinator
from inkless.groups.offsets import GroupOffsets
from inkless.produce.writer import Writer
from inkless.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerContext:
    """One broker. Handlers read from it and change nothing but through its parts."""

    settings: Settings
    cluster_id: str
    control_plane: ControlPlane
    directory: TopicDirectory
    membership: Membership
    topic_changes: TopicChanges
    producer_ids: ProducerIds
    writer: Writer
    fetcher: Fetcher
    reader: RunReader
    fetch_sessions: FetchSessions
    timestamp_search: TimestampSearch
    groups: GroupCoordinator
    group_offsets: GroupOffsets
    clock: Clock
    entropy: Entropy

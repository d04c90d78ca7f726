"""Topics and partitions that another broker has made and this one has not heard of yet."""

from collections.abc import Iterable

from inkless.cluster.directory import TopicDirectory
from inkless.server.context import BrokerContext


async def learn_of(broker: BrokerContext, partitions: Iterable[tuple[str | bytes, int]]) -> None:
    """Catches up with the cluster if any of the partitions, of topics by name or by id, is unknown here."""
    if not all(is_known(broker.directory, topic, index) for topic, index in partitions):
        await broker.membership.catch_up()


def is_known(directory: TopicDirectory, topic: str | bytes, index: int) -> bool:
    entry = directory.by_id(topic) if isinstance(topic, bytes) else directory.by_name(topic)
    return entry is not None and entry.partition(index) is not None

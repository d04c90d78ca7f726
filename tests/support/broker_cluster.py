"""Several broker processes on one data directory, as one machine's cluster has them."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from inkless.protocol.messages import MetadataRequest, MetadataRequestTopic, MetadataResponse
from support.broker_process import BrokerProcess
from support.raw_client import RawClient

ZONES = "abc"


class BrokerCluster:
    """Brokers by their ids, each in a zone of its own."""

    def __init__(self, brokers: list[BrokerProcess]) -> None:
        self.brokers = brokers

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.brokers)

    def seen_by(self, broker_id: int) -> set[int]:
        """The ids of the brokers that this one tells its clients of."""
        return {broker.node_id for broker in metadata(self.brokers[broker_id]).brokers}


@contextmanager
def running_cluster(
    folder: Path, count: int = 3, options: Mapping[str, str] | None = None
) -> Iterator[BrokerCluster]:
    """Started together, and known to each other; at the end those that still run are stopped gracefully."""
    brokers = [
        BrokerProcess(
            folder / f"broker-{broker_id}",
            {
                "node.id": str(broker_id),
                "broker.rack": ZONES[broker_id % len(ZONES)],
                "inkless.data.dir": str(folder / "data"),
                **(options or {}),
            },
        )
        for broker_id in range(count)
    ]
    with ExitStack() as started, ThreadPoolExecutor(count) as threads:
        for broker in brokers:
            # Leaving kills what runs, whoever started it.
            started.push(broker)
        list(threads.map(BrokerProcess.start, brokers))
        cluster = BrokerCluster(brokers)
        wait_until(
            lambda: all(len(cluster.seen_by(seer)) == count for seer in range(count)), what="all see all"
        )
        yield cluster
        list(threads.map(BrokerProcess.stop, [broker for broker in brokers if broker.is_running]))


def metadata(broker: BrokerProcess, *topics: str) -> MetadataResponse:
    wanted = [MetadataRequestTopic(name=topic) for topic in topics]
    with RawClient(broker.port) as client:
        response: MetadataResponse = client.call(MetadataRequest(wanted), 12)
        return response


def wait_until(holds: Callable[[], bool], *, what: str, seconds_max: float = 20.0) -> None:
    deadline = time.monotonic() + seconds_max
    while not holds():
        assert time.monotonic() < deadline, f"not after {seconds_max} s: {what}"
        time.sleep(0.02)

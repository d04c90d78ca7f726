"""A broker without sockets: what it holds in memory, and a way to lose all of it at once."""

from collections.abc import Sequence

from inkless.buffers import BufferPool
from inkless.clock import Clock, Entropy
from inkless.coordinator.contract import BatchCoordinator
from inkless.coordinator.types import FindRequest
from inkless.fetch.cache import ObjectCache
from inkless.fetch.fetcher import Fetcher, PartitionBytes
from inkless.fetch.parking import ParkingLot
from inkless.fetch.reader import RunReader
from inkless.fetch.tail import Tail
from inkless.produce.active_object import ActiveObject
from inkless.produce.append import Append
from inkless.produce.writer import Writer
from inkless.settings import FetchSettings, ProduceSettings
from inkless.storage.contract import ObjectStore

PRODUCE = ProduceSettings(
    buffer_bytes_max=1500,
    commit_interval_ms=20,
    settle_ms=1,
    linger_ms=2,
    uploads_max=3,
    batches_per_object_max=8,
    upload_deadline_ms=40,
    commit_deadline_ms=80,
)
FETCH = FetchSettings(
    # Room for a few objects, so that some are evicted and read in again.
    cache_bytes_max=5 * 64 * 1024,
    hot_window_ms=100,
    hot_reads_max=2,
    cold_reads_max=2,
    read_deadline_ms=40,
    poll_interval_ms=5,
)


class BrokerCore:
    """The produce path and the fetch path of one process."""

    def __init__(
        self, *, store: ObjectStore, coordinator: BatchCoordinator, clock: Clock, entropy: Entropy
    ) -> None:
        pool = BufferPool(idle_bytes_max=1 << 20)
        self.cache = ObjectCache(bytes_max=FETCH.cache_bytes_max, written_share=0.6)
        self.parking = ParkingLot()
        self.reader = RunReader(FETCH, store=store, cache=self.cache, pool=pool, clock=clock)
        self.writer = Writer(
            PRODUCE,
            broker_id=0,
            store=store,
            coordinator=coordinator,
            listener=Tail(self.cache, self.parking),
            pool=pool,
            clock=clock,
            entropy=entropy,
        )
        self._fetcher = Fetcher(
            FETCH, coordinator=coordinator, reader=self.reader, parking=self.parking, clock=clock
        )

    def append(self, append: Append) -> None:
        self.writer.append(append)

    async def fetch(
        self, wanted: Sequence[FindRequest], *, bytes_max: int, bytes_min: int, wait_ms: int
    ) -> list[PartitionBytes]:
        return await self._fetcher.fetch(wanted, bytes_max=bytes_max, bytes_min=bytes_min, wait_ms=wait_ms)

    async def kill(self) -> None:
        """Ends in the middle of whatever it does: nothing is flushed, nobody is answered."""
        writer = self.writer
        if writer._timer is not None:
            writer._timer.cancel()
        writer._active = ActiveObject()
        await writer._commits.close()
        await writer._uploads.close()
        self.parking.close()

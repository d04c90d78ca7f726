"""A producer that remembers what it was told about every record, to be held against what is stored."""

import itertools
import threading
import time
from types import TracebackType
from typing import NamedTuple, Self

from confluent_kafka import KafkaError, Message, Producer

_FLUSH_SECONDS_MAX = 60.0
_BURST_SECONDS = 0.01


class Acknowledged(NamedTuple):
    """The broker's word that a value is at an offset."""

    partition: int
    offset: int
    value: bytes


class RecordingProducer:
    """Produces numbered values round the partitions from a thread of its own until it is ended.

    Patient with a broker that is away: a record is given up only after minutes, so every failure that it
    notes is one that the broker answered. `records_per_second` keeps it from filling the machine.
    """

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        *,
        name: str,
        partition_count: int,
        idempotent: bool = False,
        value_bytes: int = 100,
        records_per_second: int = 10_000,
    ) -> None:
        self.name = name
        self.acknowledged: list[Acknowledged] = []
        self.failures: list[str] = []
        self.sent_count = 0
        self._topic = topic
        self._partition_count = partition_count
        self._padding = b"." * value_bytes
        self._burst_length = max(1, int(records_per_second * _BURST_SECONDS))
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name)
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": idempotent,
                "acks": "all",
                "linger.ms": 2,
                "message.timeout.ms": 300_000,
                "retries": 1_000_000,
                "retry.backoff.ms": 20,
                "retry.backoff.max.ms": 100,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "log_level": 1,
            }
        )

    @property
    def unanswered_count(self) -> int:
        return self.sent_count - len(self.acknowledged) - len(self.failures)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()
        self._producer.flush(_FLUSH_SECONDS_MAX if exc is None else 0)

    def wait_for_acknowledgements(self, count: int, *, seconds_max: float = 30.0) -> None:
        """Returns when that many more have come, which shows that the broker serves."""
        wanted = len(self.acknowledged) + count
        deadline = time.monotonic() + seconds_max
        while len(self.acknowledged) < wanted:
            assert time.monotonic() < deadline, f"{self.name}: no acknowledgement for {seconds_max} s"
            time.sleep(0.01)

    def _run(self) -> None:
        for number in itertools.count():
            if self._stopping.is_set():
                return
            value = b"%s %d %s" % (self.name.encode(), number, self._padding)
            self._produce(value, number % self._partition_count)
            self.sent_count += 1
            if number % self._burst_length == 0:
                self._producer.poll(0)
                self._stopping.wait(_BURST_SECONDS)

    def _produce(self, value: bytes, partition: int) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value, partition=partition, on_delivery=self._delivered)
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(str(error))
            return
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert partition is not None
        assert offset is not None
        assert isinstance(value, bytes)
        self.acknowledged.append(Acknowledged(partition, offset, value))

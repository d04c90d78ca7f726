"""A well-behaved client that notices when what others do on their connections disturbs it."""

import itertools
import threading
from types import TracebackType
from typing import Self

from inkless.records.encode import encode_batch
from inkless.records.header import read_header
from inkless.records.record import Record
from support.raw_client import RawClient

_PAUSE_SECONDS = 0.005


def batch_of(*values: bytes, timestamp_ms: int = 1_700_000_000_000) -> bytes:
    """One uncompressed batch."""
    return encode_batch([Record(offset, timestamp_ms, None, value) for offset, value in enumerate(values)])


class Bystander:
    """Produces one record after the other on one connection and fetches each back on another.

    A context manager: leaving it raises whatever went wrong meanwhile, a lost connection included.
    """

    def __init__(self, port: int, topic: str) -> None:
        self.round_count = 0
        self._port = port
        self._topic = topic
        self._failure: BaseException | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bystander")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()
        if self._failure is not None:
            raise AssertionError(f"disturbed after {self.round_count} rounds") from self._failure

    def _run(self) -> None:
        try:
            with RawClient(self._port) as producing, RawClient(self._port) as fetching:
                for number in itertools.count():
                    self._round(producing, fetching, b"bystander %d" % number)
                    self.round_count += 1
                    if self._stopping.wait(_PAUSE_SECONDS):
                        return
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._failure = error

    def _round(self, producing: RawClient, fetching: RawClient, value: bytes) -> None:
        sent = batch_of(value)
        produced = producing.produce(self._topic, 0, sent)
        assert produced.error_code == 0, produced
        fetched = fetching.fetch(self._topic, 0, produced.base_offset)
        assert fetched.error_code == 0, fetched
        run = memoryview(b"".join(fetched.records or ()))
        header = read_header(run)
        assert header.base_offset == produced.base_offset
        # All from the magic on is as it was sent; before it stand offset and epoch, which are the broker's.
        assert bytes(run[16 : header.byte_length]) == sent[16:]

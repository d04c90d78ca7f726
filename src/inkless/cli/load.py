"""The loads behind `inkless perf`: records in as fast as they go, or at a rate; records out."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from inkless.cli.latency import LatencyHistogram
from inkless.cli.perf_report import LoadResult, ProgressLine
from inkless.client.cluster import Cluster
from inkless.client.consumer import Consumer, ConsumerSettings, Start
from inkless.client.fetch_exchange import FetchedRun
from inkless.client.pending import Delivery
from inkless.client.producer import Producer
from inkless.client.sender import ProducerSettings
from inkless.client.topology import TopicPartition
from inkless.clock import Clock, SystemClock, SystemEntropy

PAYLOADS = 64
RECORDS_PER_TURN = 128
"""After so many records without a pause the event loop gets its turn, or nothing would be sent."""


@dataclass(frozen=True, slots=True)
class ProduceLoad:
    """What to send. `records_per_s` 0 is as fast as the cluster takes it."""

    topic: str
    records: int
    record_bytes: int
    records_per_s: float


class Sent:
    """Counts what comes back; latencies run from when a record was due, not from when we got round to it."""

    def __init__(self, clock: Clock) -> None:
        self.latencies = LatencyHistogram()
        self.failed = 0
        self.first_error: Exception | None = None
        self._clock = clock

    @property
    def settled(self) -> int:
        return self.latencies.count + self.failed

    def take(self, due_s: float, delivery: Delivery | None, error: Exception | None) -> None:
        if delivery is None:
            self.failed += 1
            self.first_error = self.first_error or error
        else:
            self.latencies.observe((self._clock.monotonic() - due_s) * 1000)


async def run_produce_load(
    cluster: Cluster, load: ProduceLoad, settings: ProducerSettings
) -> tuple[LoadResult, Exception | None]:
    """Sends everything and waits for it; the first error comes with the result, which counts the others."""
    clock = SystemClock()
    payloads = make_payloads(load.record_bytes)
    progress = ProgressLine(sys.stderr, clock, in_flight_label="in flight")
    sent = Sent(clock)
    started_s = clock.monotonic()
    try:
        async with Producer(cluster, clock=clock, entropy=SystemEntropy(), settings=settings) as producer:
            for number in range(load.records):
                due_s = await _wait_turn(clock, load, number, started_s)
                payload = payloads[number % PAYLOADS]
                await producer.post(load.topic, payload, on_delivered=partial(sent.take, due_s))
                if number % RECORDS_PER_TURN == 0:
                    await clock.sleep(0)
                    done = sent.latencies.count
                    progress.update(done, done * load.record_bytes, number + 1 - sent.settled)
    finally:
        progress.close()
    stored = sent.latencies.count
    result = LoadResult(
        records=stored,
        byte_count=stored * load.record_bytes,
        elapsed_s=clock.monotonic() - started_s,
        latencies=sent.latencies,
        failed=sent.failed,
    )
    return result, sent.first_error


async def _wait_turn(clock: Clock, load: ProduceLoad, number: int, started_s: float) -> float:
    """When the record is due: now, or its place in the schedule, which we may be behind."""
    now_s = clock.monotonic()
    if not load.records_per_s:
        return now_s
    due_s = started_s + number / load.records_per_s
    if due_s > now_s:
        await clock.sleep(due_s - now_s)
    return due_s


def make_payloads(record_bytes: int) -> list[bytes]:
    """Hexadecimal digits of random bytes: a codec can halve them, which is less flattering than zeros."""
    return [os.urandom((record_bytes + 1) // 2).hex().encode()[:record_bytes] for _ in range(PAYLOADS)]


async def run_consume_load(
    cluster: Cluster, starts: Mapping[TopicPartition, Start], *, records_max: int | None, follow: bool
) -> LoadResult:
    """Reads to the end, or follows the end until `records_max` have come.

    Latency is the wait for each fetch; when following, the age of each record when it arrives, which is
    end to end if the clocks of producer and consumer agree.
    """
    clock = SystemClock()
    progress = ProgressLine(sys.stderr, clock)
    latencies = LatencyHistogram()
    records = byte_count = 0
    started_s = waiting_since_s = clock.monotonic()
    settings = ConsumerSettings(until_end=not follow)
    try:
        async with Consumer(cluster, starts, clock=clock, settings=settings) as consumer:
            async for fetched in consumer.runs():
                if follow:
                    observe_ages(fetched, clock.now_ms(), latencies)
                else:
                    latencies.observe((clock.monotonic() - waiting_since_s) * 1000)
                records += fetched.end_offset - fetched.start_offset
                byte_count += len(fetched.batches)
                progress.update(records, byte_count)
                if records_max is not None and records >= records_max:
                    break
                waiting_since_s = clock.monotonic()
    finally:
        progress.close()
    return LoadResult(
        records=records, byte_count=byte_count, elapsed_s=clock.monotonic() - started_s, latencies=latencies
    )


def observe_ages(fetched: FetchedRun, now_ms: int, latencies: LatencyHistogram) -> None:
    for record in fetched.records():
        latencies.observe(max(0, now_ms - record.timestamp_ms))

"""A librdkafka producer and consumer as ordinary users have them.

`python -m bench.librdkafka_client produce|consume|paced BOOTSTRAP …` prints one line of JSON.
"""

import argparse
import json
import time

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition


class Acknowledgements:
    """Counts what was acknowledged and when the last one was."""

    def __init__(self) -> None:
        self.count = 0
        self.failures = 0
        self.latencies_s: list[float] = []

    def __call__(self, error: KafkaError | None, message) -> None:
        if error is not None:
            self.failures += 1
        self.count += 1


def produce(args: argparse.Namespace) -> dict[str, float]:
    """As fast as the client can, for a number of seconds; counts what was acknowledged."""
    acknowledgements = Acknowledgements()
    producer = Producer(
        {
            "bootstrap.servers": args.bootstrap,
            "acks": "all",
            "enable.idempotence": args.idempotent,
            **dict(setting.split("=", 1) for setting in args.client),
            "on_delivery": acknowledgements,
        }
    )
    producer.list_topics(args.topic, timeout=10)
    value = bytes(args.record_bytes)
    started = time.perf_counter()
    stop_at = started + args.seconds
    sent = 0
    partitions = args.partitions
    while time.perf_counter() < stop_at:
        for _ in range(1000):
            try:
                producer.produce(args.topic, value, partition=sent // 200 % partitions)
            except BufferError:
                producer.poll(0.01)
                break
            sent += 1
        producer.poll(0)
    producer.flush(120)
    elapsed = time.perf_counter() - started
    return _rate(acknowledgements.count - acknowledgements.failures, args.record_bytes, elapsed) | {
        "failures": acknowledgements.failures
    }


def consume(args: argparse.Namespace) -> dict[str, float]:
    """Reads a number of records from the beginning of all partitions."""
    consumer = Consumer(
        {
            "bootstrap.servers": args.bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            # With the default of 1,000 a client whose queue was full for a moment sits idle for a second.
            "fetch.queue.backoff.ms": 1,
        }
    )
    consumer.assign([TopicPartition(args.topic, index, 0) for index in range(args.partitions)])
    first = consumer.poll(10)
    if first is None:
        raise SystemExit("nothing to consume")
    started = time.perf_counter()
    stop_at = started + args.seconds
    count = 0
    while count < args.records and time.perf_counter() < stop_at:
        count += len(consumer.consume(10_000, timeout=1))
    elapsed = time.perf_counter() - started
    consumer.close()
    return _rate(count, args.record_bytes, elapsed)


def paced(args: argparse.Namespace) -> dict[str, float]:
    """A steady rate of records, and how long each took to be acknowledged."""
    latencies: list[float] = []
    producer = Producer({"bootstrap.servers": args.bootstrap, "acks": "all", "linger.ms": 0})
    producer.list_topics(args.topic, timeout=10)
    value = bytes(args.record_bytes)
    interval = 1 / args.rate
    started = next_at = time.perf_counter()
    while next_at < started + args.seconds:
        sent_at = time.perf_counter()

        def delivered(error, message, sent_at=sent_at) -> None:
            if error is None:
                latencies.append(time.perf_counter() - sent_at)

        producer.produce(args.topic, value, partition=0, on_delivery=delivered)
        next_at += interval
        producer.poll(max(0.0, next_at - time.perf_counter()))
        while time.perf_counter() < next_at:
            producer.poll(0)
    producer.flush(30)
    latencies.sort()
    return {
        "records_per_s": len(latencies) / args.seconds,
        "p50_ms": latencies[len(latencies) // 2] * 1000,
        "p99_ms": latencies[int(len(latencies) * 0.99)] * 1000,
    }


def _rate(count: int, record_bytes: int, elapsed_s: float) -> dict[str, float]:
    return {
        "records": count,
        "elapsed_s": elapsed_s,
        "records_per_s": count / elapsed_s,
        "mib_per_s": count * record_bytes / elapsed_s / 2**20,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["produce", "consume", "paced"])
    parser.add_argument("bootstrap")
    parser.add_argument("--topic", default="bench")
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--record-bytes", type=int, default=1024)
    parser.add_argument("--records", type=int, default=1 << 60)
    parser.add_argument("--rate", type=float, default=2000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--idempotent", action="store_true")
    parser.add_argument("--client", action="append", default=[], metavar="KEY=VALUE")
    args = parser.parse_args()
    verbs = {"produce": produce, "consume": consume, "paced": paced}
    print(json.dumps(verbs[args.verb](args)))


if __name__ == "__main__":
    main()

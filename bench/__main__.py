"""`python -m bench [section …]`: what the broker does, beside what it could do at most, in one run.

Every comparison is run in rounds, limit and broker in turn, and the medians are compared: the machines this
runs on are small and noisy, and only ratios of figures from the same minute mean anything.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

from confluent_kafka.admin import AdminClient, NewTopic

from bench.servers import ServerProcess, running

Figures = dict[str, float]


def client(server: ServerProcess, module: str, verb: str, *arguments: object) -> Figures:
    """Runs a client process and adds what it cost the server."""
    where = server.bootstrap if module == "librdkafka_client" else str(server.port)
    cpu_before = server.cpu_s()
    done = subprocess.run(
        [sys.executable, "-m", f"bench.{module}", verb, where, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{module} {verb} failed with exit code {done.returncode}:\n{done.stderr[-2000:]}")
    figures: Figures = json.loads(done.stdout)
    return figures | {"cpu_s": server.cpu_s() - cpu_before, "peak_rss_mib": server.peak_rss_mib()}


def warm_up(server: ServerProcess, module: str, verb: str, *arguments: object) -> None:
    """Brings the server's buffers into memory, which on a virtual machine can cost more than using them."""
    client(server, module, verb, *arguments, "--seconds", 2)


def create_topic(server: ServerProcess, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": server.bootstrap, "log_level": 0})
    for created in admin.create_topics([NewTopic("bench", partitions)]).values():
        created.result(30)


def medians(rounds: list[Figures]) -> Figures:
    return {name: statistics.median(figures[name] for figures in rounds) for name in rounds[0]}


def in_turn(kinds: list[str], measure: Callable[[str], Figures], rounds: int) -> dict[str, Figures]:
    """Measures each kind once per round."""
    taken: dict[str, list[Figures]] = {kind: [] for kind in kinds}
    for number in range(rounds):
        for kind in kinds:
            print(f"\r  round {number + 1}/{rounds} {kind:12}", end="", file=sys.stderr, flush=True)
            taken[kind].append(measure(kind))
    print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)
    return {kind: medians(figures) for kind, figures in taken.items()}


def librdkafka(args: argparse.Namespace) -> None:
    """A librdkafka producer (acks=all) and consumer against the limit."""
    print(
        "\nlibrdkafka, MiB/s              |  produce: limit  broker  ratio |  consume: limit  broker  ratio"
    )
    for partitions in (1, 64):
        for record_bytes in (1024, 100):
            both = in_turn(
                ["sink", "broker"],
                partial(_produce_and_consume, partitions, record_bytes, args.seconds),
                args.rounds,
            )
            limit, broker = both["sink"], both["broker"]
            print(
                f"{record_bytes:5} B, {partitions:2} partitions |"
                + " |".join(_beside(limit[way], broker[way]) for way in ("produced", "consumed")),
                flush=True,
            )


def _beside(limit: float, reached: float) -> str:
    return f"{limit:15.0f}{reached:8.0f}{reached / limit:7.2f}"


def _produce_and_consume(partitions: int, record_bytes: int, seconds: float, kind: str) -> Figures:
    options = ["--partitions", partitions, "--record-bytes", record_bytes, "--seconds", seconds]
    with running(kind, num_partitions=str(partitions)) as server:
        create_topic(server, partitions)
        warm_up(server, "librdkafka_client", "produce", *options)
        produced = client(server, "librdkafka_client", "produce", *options)
        records = int(produced["records"])
        consumed = client(server, "librdkafka_client", "consume", *options, "--records", int(records * 0.9))
    return {"produced": produced["mib_per_s"], "consumed": consumed["mib_per_s"]}


def cpu(args: argparse.Namespace) -> None:
    """What a raw client with 1 MiB requests costs the broker."""
    both = in_turn(["sink", "broker"], partial(_large_requests, args.seconds), args.rounds)
    print("\n1 MiB requests | MiB/s in  CPU ms/MiB | MiB/s out  CPU ms/MiB | peak RSS MiB")
    for kind, figures in both.items():
        print(
            f"{kind:14} |{figures['in']:9.0f}{figures['in_cpu']:12.2f} |"
            f"{figures['out']:10.0f}{figures['out_cpu']:12.2f} |{figures['rss']:13.0f}"
        )


def _large_requests(seconds: float, kind: str) -> Figures:
    with running(kind) as server:
        create_topic(server, 1)
        warm_up(server, "raw_client", "produce", "--in-flight", 8)
        sent = client(server, "raw_client", "produce", "--seconds", seconds, "--in-flight", 8)
        got = client(server, "raw_client", "fetch", "--seconds", seconds, "--in-flight", 2)
    return {
        "in": sent["sent_mib"] / sent["elapsed_s"],
        "in_cpu": sent["cpu_s"] * 1000 / sent["sent_mib"],
        "out": got["received_mib"] / got["elapsed_s"],
        "out_cpu": got["cpu_s"] * 1000 / got["received_mib"],
        "rss": got["peak_rss_mib"],
    }


def small(args: argparse.Namespace) -> None:
    """Requests of one record each, many in flight."""
    both = in_turn(["sink", "broker"], partial(_small_requests, args.seconds), args.rounds)
    print("\none-record requests            |    requests/s    CPU us each      p50 ms    p99 ms")
    for kind, figures in both.items():
        print(
            f"{kind:30} |{figures['requests_per_s']:14.0f}{figures['cpu_us']:15.1f}"
            f"{figures['p50_ms']:12.1f}{figures['p99_ms']:10.1f}"
        )


def _small_requests(seconds: float, kind: str) -> Figures:
    options = ["--batch-bytes", 100, "--record-bytes", 100, "--in-flight", 500, "--connections", 3]
    with running(kind) as server:
        create_topic(server, 1)
        warm_up(server, "raw_client", "produce", *options)
        figures = client(server, "raw_client", "produce", *options, "--seconds", seconds)
    requests = figures["requests_per_s"] * figures["elapsed_s"]
    return figures | {"cpu_us": figures["cpu_s"] * 1e6 / requests}


def latency(args: argparse.Namespace) -> None:
    """From produce to acknowledgement at a steady rate, on the local folder."""
    both = in_turn(["sink", "broker"], partial(_paced, args.seconds), args.rounds)
    print("\n2,000 records/s of 100 B       |  p50 ms    p99 ms")
    for kind, figures in both.items():
        print(f"{kind:30} |{figures['p50_ms']:8.1f}{figures['p99_ms']:10.1f}")


def _paced(seconds: float, kind: str) -> Figures:
    with running(kind) as server:
        create_topic(server, 1)
        return client(
            server, "librdkafka_client", "paced", "--record-bytes", 100, "--rate", 2000, "--seconds", seconds
        )


SLOW_STORE = {
    "adaptive": {"inkless_produce_max_puts_per_second": "20"},
    "fixed 250 ms": {
        "inkless_produce_settle_ms": "250",
        "inkless_produce_linger_ms": "250",
        "inkless_produce_commit_interval_ms": "250",
    },
    "one at a time": {
        "inkless_produce_max_puts_per_second": "20",
        "inkless_connection_max_in_flight_requests": "1",
    },
}


def slow_store(args: argparse.Namespace) -> None:
    """One idempotent producer with default settings, and a store that takes 50 ms per PUT."""
    all_ways = in_turn(list(SLOW_STORE), partial(_slow_store, args.seconds), args.rounds)
    adaptive = all_ways["adaptive"]["mib_per_s"]
    print("\none idempotent producer, 50 ms per PUT |   MiB/s   adaptive is")
    for way, figures in all_ways.items():
        print(f"{way:38} |{figures['mib_per_s']:8.1f}{adaptive / figures['mib_per_s']:11.1f} x")


def _slow_store(seconds: float, way: str) -> Figures:
    # librdkafka has one request in flight per partition and five per connection when it is idempotent.
    options = ["--idempotent", "--record-bytes", 1024, "--partitions", 8, "--seconds", seconds]
    with running("slow-broker", put_delay_ms="50", **SLOW_STORE[way]) as server:
        create_topic(server, 8)
        return client(server, "librdkafka_client", "produce", *options)


SECTIONS = {each.__name__: each for each in (librdkafka, cpu, small, latency, slow_store)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "sections", nargs="*", metavar="section", help=f"of {', '.join(SECTIONS)}; default all"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3, help="length of each measurement")
    args = parser.parse_args()
    unknown = set(args.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    print(
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}; medians of {args.rounds} rounds of {args.seconds:g} s"
    )
    for name in args.sections or SECTIONS:
        SECTIONS[name](args)


if __name__ == "__main__":
    main()

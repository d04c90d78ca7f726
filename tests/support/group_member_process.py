"""A consumer that a test can kill: `python group_member_process.py bootstrap group topic`.

It prints a line with its partitions whenever it is assigned some.
"""

import sys

from confluent_kafka import Consumer, TopicPartition


def consume(bootstrap: str, group: str, topic: str) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "session.timeout.ms": 1_500,
            "heartbeat.interval.ms": 200,
            "log_level": 2,
        }
    )

    def print_assignment(_: Consumer, partitions: list[TopicPartition]) -> None:
        print(*(partition.partition for partition in partitions), flush=True)

    consumer.subscribe([topic], on_assign=print_assignment)
    while True:
        consumer.poll(0.1)


if __name__ == "__main__":
    consume(*sys.argv[1:4])

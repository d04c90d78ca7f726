"""Three brokers whose control plane is a PostgreSQL that goes away and comes back under load."""

from pathlib import Path

import pytest

from clients.confluent_client import create_topic
from support.broker_cluster import running_cluster
from support.postgres import running_postgres
from support.produced_values import assert_nothing_lost, sent_values, values_of, wait_for_all_partitions
from support.recording_producer import RecordingProducer
from support.stored_values import stored_values

pytestmark = pytest.mark.postgres

PARTITIONS = 6


@pytest.mark.timeout(240)
def test_a_restarted_database_costs_time_and_nothing_else(tmp_path: Path) -> None:
    with running_postgres(sync=True) as database:
        options = {"inkless.control.plane.url": database.url(), "inkless.broker.lease.ms": "60000"}
        with running_cluster(tmp_path, options=options) as cluster:
            create_topic(cluster.bootstrap, "outages", partitions=PARTITIONS)
            producers = [
                RecordingProducer(
                    cluster.bootstrap,
                    "outages",
                    name=name,
                    partition_count=PARTITIONS,
                    idempotent=name == "idempotent",
                    records_per_second=2000,
                )
                for name in ("idempotent", "plain")
            ]
            with producers[0], producers[1]:
                for _ in range(2):
                    wait_for_all_partitions(producers, PARTITIONS)
                    database.stop()
                    database.start()
                    wait_for_all_partitions(producers, PARTITIONS)
            stored = [
                [stored_values(broker.port, "outages", place) for place in range(PARTITIONS)]
                for broker in cluster.brokers
            ]

    assert stored[1:] == [stored[0]] * 2
    assert_nothing_lost(producers, stored[0])
    assert values_of("idempotent", stored[0]) == sent_values(producers[0].acknowledged, PARTITIONS)

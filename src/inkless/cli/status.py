"""`inkless status` and `inkless brokers`: does a cluster answer, and who is in it."""

from dataclasses import dataclass
from typing import Any

import click

from inkless import __version__
from inkless.cli.options import bootstrap_option, json_option
from inkless.cli.session import open_cluster, run
from inkless.cli.tables import format_fields, format_table, print_json
from inkless.client.answers import check
from inkless.client.cluster import Cluster
from inkless.client.topology import Address, BrokerView, ClusterView
from inkless.protocol.api_keys import ApiKey
from inkless.protocol.messages import ApiVersionsRequest, ApiVersionsResponse


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """What was heard, and the versions of each API that the broker who told it speaks."""

    view: ClusterView
    api_versions: dict[str, tuple[int, int]]

    @property
    def partition_count(self) -> int:
        return sum(len(topic.partitions) for topic in self.view.topics.values())

    @property
    def leaderless_count(self) -> int:
        """Partitions that nobody can write to now."""
        return sum(
            partition.leader_id not in self.view.brokers
            for topic in self.view.topics.values()
            for partition in topic.partitions.values()
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "cluster_id": self.view.cluster_id,
            "controller_id": self.view.controller_id,
            "brokers": broker_rows_json(self.view),
            "topics": len(self.view.topics),
            "partitions": self.partition_count,
            "partitions_without_leader": self.leaderless_count,
            "api_versions": {name: list(versions) for name, versions in self.api_versions.items()},
        }

    def as_text(self) -> str:
        leaderless = f" ({self.leaderless_count} without a leader)" if self.leaderless_count else ""
        fields = format_fields(
            [
                ("cluster", self.view.cluster_id),
                ("controller", self.view.controller_id),
                ("topics", len(self.view.topics)),
                ("partitions", f"{self.partition_count}{leaderless}"),
                ("apis", self._apis_text()),
            ]
        )
        return f"{fields}\n\n{broker_table(self.view)}"

    def _apis_text(self) -> str:
        shown = [
            f"{name} {self.api_versions[name][0]}-{self.api_versions[name][1]}"
            for name in ("PRODUCE", "FETCH", "METADATA")
            if name in self.api_versions
        ]
        return f"{len(self.api_versions)} ({', '.join(shown)}; --json lists all)"


@click.command()
@bootstrap_option
@json_option
def status(*, bootstrap: tuple[Address, ...], as_json: bool) -> None:
    """Show the cluster's id, its brokers, and how much is in it. Exit code 1 when it cannot be reached.

    \b
    Examples:
      inkless status
      inkless status -b broker-1:9092,broker-2:9092 --json
    """

    async def command() -> ClusterStatus:
        async with open_cluster(bootstrap) as cluster:
            return await load_status(cluster)

    found = run(command())
    if as_json:
        print_json(found.as_json())
    else:
        click.echo(found.as_text())


@click.command()
@bootstrap_option
@json_option
def brokers(*, bootstrap: tuple[Address, ...], as_json: bool) -> None:
    """List the living brokers of the cluster.

    \b
    Example:
      inkless brokers --json
    """

    async def command() -> ClusterView:
        async with open_cluster(bootstrap) as cluster:
            return cluster.view

    view = run(command())
    if as_json:
        print_json(broker_rows_json(view))
    else:
        click.echo(broker_table(view))


async def load_status(cluster: Cluster) -> ClusterStatus:
    view = await cluster.refresh(None)
    connection = await cluster.any_connection()
    # Brokers refuse an empty name (KIP-511).
    message = ApiVersionsRequest(client_software_name="inkless-cli", client_software_version=__version__)
    response = await connection.request(message, ApiVersionsResponse)
    check(response.error_code, "versions of the broker")
    return ClusterStatus(
        view=view,
        api_versions={
            api_name(api.api_key): (api.min_version, api.max_version)
            for api in sorted(response.api_keys, key=lambda api: api.api_key)
        },
    )


def api_name(api_key: int) -> str:
    """A broker may be newer than we are and serve what we have no name for."""
    try:
        return ApiKey(api_key).name
    except ValueError:
        return f"API_{api_key}"


def broker_table(view: ClusterView) -> str:
    return format_table(
        ["id", "host", "port", "rack", "role"],
        [
            [
                broker.node_id,
                broker.address.host,
                broker.address.port,
                broker.rack,
                "controller" if broker.node_id == view.controller_id else "broker",
            ]
            for broker in _by_id(view)
        ],
    )


def broker_rows_json(view: ClusterView) -> list[dict[str, Any]]:
    return [
        {"id": broker.node_id, "host": broker.address.host, "port": broker.address.port, "rack": broker.rack}
        for broker in _by_id(view)
    ]


def _by_id(view: ClusterView) -> list[BrokerView]:
    return sorted(view.brokers.values(), key=lambda broker: broker.node_id)

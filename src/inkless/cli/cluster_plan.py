"""Which brokers a local cluster has, and with which settings each of them runs. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

HOST = "127.0.0.1"
PORT_MAX = 65535
METRICS_KEY = "inkless.metrics.listen"

DEALT_KEYS = {
    "node.id": "they are numbered from 0",
    "broker.id": "they are numbered from 0",
    "broker.rack": "name the zones with --zones",
    "listeners": "choose the ports with --base-port",
    "advertised.listeners": "choose the ports with --base-port",
    "inkless.data.dir": "name the folder with --data-dir",
}
"""What differs from broker to broker, or has an option of its own, and so cannot be set for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBroker:
    """One broker before it runs."""

    node_id: int
    zone: str
    port: int
    options: Mapping[str, str]

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"


def parse_zones(text: str) -> tuple[str, ...]:
    """`a,b,c`; as many as there are different ones."""
    zones = tuple(zone.strip() for zone in text.split(","))
    if not all(zones):
        raise click.BadParameter(f"'{text}' has a zone without a name.")
    if len(set(zones)) < len(zones):
        raise click.BadParameter(f"'{text}' names a zone twice.")
    return zones


def plan_brokers(
    count: int, *, zones: Sequence[str], data_dir: str, base_port: int, overrides: Mapping[str, str]
) -> list[PlannedBroker]:
    """Brokers dealt to the zones in turn, all on the same data."""
    for key, instead in DEALT_KEYS.items():
        if key in overrides:
            raise click.UsageError(f"{key} cannot be set for all brokers at once; {instead}")
    if base_port + count - 1 > PORT_MAX:
        raise click.UsageError(f"{count} brokers from port {base_port} on would need ports above {PORT_MAX}")
    return [
        _planned(node_id, zones[node_id % len(zones)], base_port + node_id, data_dir, overrides)
        for node_id in range(count)
    ]


def _planned(
    node_id: int, zone: str, port: int, data_dir: str, overrides: Mapping[str, str]
) -> PlannedBroker:
    options = {
        "node.id": str(node_id),
        "broker.rack": zone,
        "listeners": f"PLAINTEXT://{HOST}:{port}",
        "inkless.data.dir": data_dir,
        **overrides,
    }
    if METRICS_KEY in overrides:
        options[METRICS_KEY] = _numbered_from(overrides[METRICS_KEY], node_id)
    return PlannedBroker(node_id=node_id, zone=zone, port=port, options=options)


def _numbered_from(address: str, place: int) -> str:
    """The address with a port of the broker's own; a port that the system chooses stays so."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) == 0:
        return address
    return f"{host}:{int(port) + place}"

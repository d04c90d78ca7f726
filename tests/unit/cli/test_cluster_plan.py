from collections.abc import Mapping

import click
import pytest
from click.testing import CliRunner

from inkless.cli.app import inkless
from inkless.cli.cluster_plan import DEALT_KEYS, PlannedBroker, parse_zones, plan_brokers
from inkless.settings import load_settings


def planned(
    overrides: Mapping[str, str] | None = None, *, count: int = 3, base_port: int = 19092
) -> list[PlannedBroker]:
    return plan_brokers(
        count, zones=("a", "b"), data_dir="/shared", base_port=base_port, overrides=overrides or {}
    )


def test_brokers_are_numbered_and_dealt_to_the_zones_in_turn() -> None:
    assert [(each.node_id, each.zone, each.port) for each in planned()] == [
        (0, "a", 19092),
        (1, "b", 19093),
        (2, "a", 19094),
    ]


def test_every_broker_gets_settings_that_differ_only_in_what_is_its_own() -> None:
    loaded = [load_settings(None, each.options) for each in planned({"num.partitions": "7"})]
    assert [each.unknown for each in loaded] == [[], [], []]
    settings = [each.settings for each in loaded]
    assert [each.server.node_id for each in settings] == [0, 1, 2]
    assert [each.server.rack for each in settings] == ["a", "b", "a"]
    assert [each.server.listeners[0].port for each in settings] == [19092, 19093, 19094]
    assert {each.server.partitions_default for each in settings} == {7}
    assert {each.control_plane.url for each in settings} == {"sqlite:///shared/control-plane.db"}
    assert {each.storage.url for each in settings} == {"file:///shared/objects"}


def test_control_plane_and_storage_can_be_elsewhere() -> None:
    urls = {"inkless.control.plane.url": "sqlite:///other.db", "inkless.storage.url": "s3://bucket/x"}
    settings = load_settings(None, planned(urls)[2].options).settings
    assert settings.control_plane.url == "sqlite:///other.db"
    assert settings.storage.url == "s3://bucket/x"


def test_metrics_are_served_on_a_port_of_each_brokers_own() -> None:
    key = "inkless.metrics.listen"
    numbered = [each.options[key] for each in planned({key: "127.0.0.1:9404"})]
    assert numbered == ["127.0.0.1:9404", "127.0.0.1:9405", "127.0.0.1:9406"]
    chosen = [each.options[key] for each in planned({key: "127.0.0.1:0"})]
    assert chosen == ["127.0.0.1:0"] * 3


@pytest.mark.parametrize("key", DEALT_KEYS)
def test_what_is_dealt_cannot_be_set_for_all(key: str) -> None:
    with pytest.raises(click.UsageError, match=key):
        planned({key: "1"})


def test_ports_end_where_there_are_no_more() -> None:
    assert planned(base_port=65533)[-1].port == 65535
    with pytest.raises(click.UsageError, match="65535"):
        planned(base_port=65534)


def test_zones_are_split_and_checked() -> None:
    assert parse_zones("a, b,c") == ("a", "b", "c")
    with pytest.raises(click.BadParameter, match="without a name"):
        parse_zones("a,,b")
    with pytest.raises(click.BadParameter, match="twice"):
        parse_zones("a,b,a")


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("node.id=1", "node.id"),
        ("num.partitions=many", "num.partitions"),
        ("inkless.storage.url=memory://", "memory of its own"),
    ],
)
def test_a_setting_that_cannot_be_used_starts_nothing(option: str, complaint: str) -> None:
    result = CliRunner().invoke(inkless, ["cluster", "-o", option])
    assert result.exit_code == 2
    assert complaint in result.stderr

"""Configs of topics can be described and altered, those of the broker only described."""

from pathlib import Path
from typing import Any

import pytest

from inkless.protocol.error_codes import ErrorCode
from inkless.protocol.messages import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from support.cluster_parts import cluster_parts
from support.handler_broker import HandlerBroker, handler_broker

TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
DYNAMIC_TOPIC, STATIC_BROKER, DEFAULT = 1, 4, 5


async def describe(
    broker: HandlerBroker, kind: int, name: str, keys: list[str] | None = None, **options: Any
) -> Any:
    version = options.pop("version", None)
    request = DescribeConfigsRequest(resources=[DescribeConfigsResource(kind, name, keys)], **options)
    (result,) = (await broker.ask(request, version=version)).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


async def edit(
    broker: HandlerBroker,
    *edits: tuple[str, int, str | None],
    kind: int = TOPIC,
    name: str = "orders",
    validate_only: bool = False,
) -> Any:
    configs = [IncrementalAlterableConfig(key, operation, value) for key, operation, value in edits]
    resource = IncrementalAlterConfigsResource(kind, name, configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)
    (result,) = (await broker.ask(request)).responses
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


async def replace(
    broker: HandlerBroker, configs: dict[str, str | None], *, kind: int = TOPIC, **options: Any
) -> Any:
    pairs = [AlterableConfig(key, value) for key, value in configs.items()]
    name = options.pop("name", "orders")
    request = AlterConfigsRequest(resources=[AlterConfigsResource(kind, name, pairs)], **options)
    (result,) = (await broker.ask(request)).responses
    return result


async def stored(broker: HandlerBroker) -> dict[str, str]:
    (topic,) = await broker.parts.control_plane.load_topics()
    return dict(topic.configs)


@pytest.mark.parametrize("version", range(5))
async def test_a_topic_is_described_in_every_version(broker: HandlerBroker, version: int) -> None:
    await broker.create("orders", retention_ms="1000")
    result = await describe(broker, TOPIC, "orders", version=version)
    assert result.error_code == ErrorCode.NONE
    values = {config.name: config.value for config in result.configs}
    assert values["retention.ms"] == "1000"
    assert values["cleanup.policy"] == "delete"


async def test_version_0_says_which_values_are_defaults(broker: HandlerBroker) -> None:
    await broker.create("orders", retention_ms="1000")
    result = await describe(broker, TOPIC, "orders", ["retention.ms", "retention.bytes"], version=0)
    assert {config.name: config.is_default for config in result.configs} == {
        "retention.ms": False,
        "retention.bytes": True,
    }


async def test_synonyms_and_documentation_come_when_asked_for(tmp_path: Path) -> None:
    async with handler_broker(tmp_path, overrides={"log.retention.ms": "500"}) as broker:
        await broker.create("orders", retention_ms="1000")
        options = {"include_synonyms": True, "include_documentation": True}
        (full,) = (await describe(broker, TOPIC, "orders", ["retention.ms"], **options)).configs
        (bare,) = (await describe(broker, TOPIC, "orders", ["retention.ms"])).configs
    assert [(each.name, each.value, each.source) for each in full.synonyms] == [
        ("retention.ms", "1000", DYNAMIC_TOPIC),
        ("log.retention.ms", "500", STATIC_BROKER),
        ("log.retention.ms", "604800000", DEFAULT),
    ]
    assert full.documentation
    assert (list(bare.synonyms), bare.documentation) == ([], None)


async def test_no_keys_mean_all_of_them(broker: HandlerBroker) -> None:
    await broker.create("orders")
    everything = (await describe(broker, TOPIC, "orders")).configs
    assert (await describe(broker, TOPIC, "orders", [])).configs == everything
    assert (await describe(broker, TOPIC, "orders", ["no.such.config"])).configs == []


async def test_this_broker_is_described_read_only(broker: HandlerBroker) -> None:
    result = await describe(broker, BROKER, "0")
    configs = {config.name: config for config in result.configs}
    assert configs["num.partitions"].value == "1"
    assert all(config.read_only for config in result.configs)


async def test_secrets_are_not_described(tmp_path: Path) -> None:
    overrides = {"inkless.storage.s3.secret.access.key": "hidden-word"}
    async with handler_broker(tmp_path, overrides=overrides) as broker:
        result = await describe(broker, BROKER, "0", include_synonyms=True)
    (secret,) = [each for each in result.configs if each.name == "inkless.storage.s3.secret.access.key"]
    assert (secret.value, secret.is_sensitive) == (None, True)
    assert "hidden-word" not in repr(result)


async def test_all_brokers_together_have_no_configs(broker: HandlerBroker) -> None:
    result = await describe(broker, BROKER, "")
    assert (result.error_code, result.configs) == (ErrorCode.NONE, [])


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "1", ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (BROKER_LOGGER, "0", ErrorCode.INVALID_REQUEST),
        (0, "", ErrorCode.INVALID_REQUEST),
    ],
)
async def test_what_cannot_be_described_cannot_be_altered(
    broker: HandlerBroker, kind: int, name: str, code: ErrorCode
) -> None:
    assert (await describe(broker, kind, name)).error_code == code
    assert (await edit(broker, ("retention.ms", SET, "1"), kind=kind, name=name)).error_code == code
    assert (await replace(broker, {"retention.ms": "1"}, kind=kind, name=name)).error_code == code


async def test_alter_configs_replaces_all(broker: HandlerBroker) -> None:
    await broker.create("orders", retention_ms="1000", retention_bytes="5")
    result = await replace(broker, {"retention.ms": "2000", "max.message.bytes": "77"})
    assert result.error_code == ErrorCode.NONE
    assert await stored(broker) == {"retention.ms": "2000", "max.message.bytes": "77"}


async def test_alter_configs_takes_no_null(broker: HandlerBroker) -> None:
    await broker.create("orders", retention_ms="1000")
    assert (await replace(broker, {"retention.ms": None})).error_code == ErrorCode.INVALID_CONFIG
    assert await stored(broker) == {"retention.ms": "1000"}


async def test_alter_configs_replaces_what_another_broker_has_set(tmp_path: Path) -> None:
    async with (
        handler_broker(tmp_path) as ours,
        cluster_parts(tmp_path, overrides={"node.id": "1"}) as theirs,
    ):
        await ours.create("orders")
        await theirs.directory.refresh()
        entry = theirs.directory.by_name("orders")
        assert entry is not None
        await theirs.topic_changes.alter_configs(entry, {"retention.bytes": "5"})
        await replace(ours, {"retention.ms": "1"})
        assert await stored(ours) == {"retention.ms": "1"}


async def test_incremental_changes_leave_the_other_configs(broker: HandlerBroker) -> None:
    await broker.create("orders", retention_ms="1000", retention_bytes="5")
    result = await edit(broker, ("retention.ms", DELETE, None), ("max.message.bytes", SET, "77"))
    assert result.error_code == ErrorCode.NONE
    assert await stored(broker) == {"retention.bytes": "5", "max.message.bytes": "77"}


async def test_a_list_starts_from_its_default_when_appended_to(broker: HandlerBroker) -> None:
    await broker.create("orders")
    await edit(broker, ("cleanup.policy", APPEND, "compact"))
    assert await stored(broker) == {"cleanup.policy": "delete,compact"}


async def test_appending_twice_is_appending_once(broker: HandlerBroker) -> None:
    await broker.create("orders", cleanup_policy="compact")
    await edit(broker, ("cleanup.policy", APPEND, "delete"))
    await edit(broker, ("cleanup.policy", APPEND, "delete"))
    assert await stored(broker) == {"cleanup.policy": "compact,delete"}


async def test_a_list_loses_what_is_subtracted(broker: HandlerBroker) -> None:
    await broker.create("orders", cleanup_policy="compact,delete")
    await edit(broker, ("cleanup.policy", SUBTRACT, "compact"))
    assert await stored(broker) == {"cleanup.policy": "delete"}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("retention.ms", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (("retention.ms", SUBTRACT, "1"), ErrorCode.INVALID_CONFIG),
        (("no.such.config", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (("no.such.config", SET, "1"), ErrorCode.INVALID_CONFIG),
        (("retention.ms", SET, "soon"), ErrorCode.INVALID_CONFIG),
        (("retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
        (("retention.ms", 9, "1"), ErrorCode.INVALID_REQUEST),
    ],
)
async def test_a_bad_edit_changes_nothing(
    broker: HandlerBroker, change: tuple[str, int, str | None], code: ErrorCode
) -> None:
    await broker.create("orders")
    result = await edit(broker, ("retention.bytes", SET, "5"), change)
    assert result.error_code == code
    assert change[0] in result.error_message
    assert await stored(broker) == {}


async def test_a_config_named_twice_is_refused(broker: HandlerBroker) -> None:
    await broker.create("orders")
    result = await edit(broker, ("retention.ms", SET, "5"), ("retention.ms", DELETE, None))
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert await stored(broker) == {}


async def test_a_resource_named_twice_is_refused_both_times(broker: HandlerBroker) -> None:
    await broker.create("orders")
    resource = AlterConfigsResource(TOPIC, "orders", [AlterableConfig("retention.ms", "5")])
    response = await broker.ask(AlterConfigsRequest(resources=[resource, resource]))
    assert [each.error_code for each in response.responses] == [ErrorCode.INVALID_REQUEST] * 2
    assert await stored(broker) == {}


async def test_trials_change_nothing(broker: HandlerBroker) -> None:
    await broker.create("orders", retention_bytes="5")
    good = await edit(broker, ("retention.ms", SET, "5"), validate_only=True)
    bad = await edit(broker, ("retention.ms", SET, "soon"), validate_only=True)
    replaced = await replace(broker, {}, validate_only=True)
    codes = [good.error_code, bad.error_code, replaced.error_code]
    assert codes == [ErrorCode.NONE, ErrorCode.INVALID_CONFIG, ErrorCode.NONE]
    assert await stored(broker) == {"retention.bytes": "5"}


@pytest.mark.parametrize("name", ["0", ""])
async def test_broker_configs_cannot_be_altered(broker: HandlerBroker, name: str) -> None:
    known = await edit(broker, ("num.partitions", SET, "5"), kind=BROKER, name=name)
    unknown = await edit(broker, ("no.such.config", SET, "5"), kind=BROKER, name=name)
    assert known.error_code == ErrorCode.INVALID_REQUEST
    assert "cannot be changed while the broker runs" in known.error_message
    assert unknown.error_code == ErrorCode.INVALID_CONFIG
    assert (await replace(broker, {}, kind=BROKER, name=name)).error_code == ErrorCode.NONE


async def test_without_a_database_configs_get_a_retriable_code(broker: HandlerBroker) -> None:
    await broker.create("orders")
    broker.parts.link.is_down = True
    codes = [
        (await describe(broker, TOPIC, "orders")).error_code,
        (await edit(broker, ("retention.ms", SET, "5"))).error_code,
        (await replace(broker, {"retention.ms": "5"})).error_code,
    ]
    assert codes == [ErrorCode.REQUEST_TIMED_OUT] * 3

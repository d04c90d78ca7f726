import re
from pathlib import Path

import pytest

from inkless.errors import ConfigurationError
from inkless.settings import HostPort, ListenerAddress, UnknownKey, load_settings
from inkless.settings.keys import keys_of
from inkless.settings.sections import SECTIONS, declared_keys
from inkless.settings.topic_table import SYNONYMS

# The example of the seed on zone alignment, as its users have it.
EXAMPLE = """
broker.rack=us-east-1a
log.diskless.enable=true
inkless.storage.backend.class=io.aiven.inkless.storage_backend.s3.S3Storage
inkless.storage.s3.bucket.name=my-bucket
inkless.storage.s3.region=us-east-1
inkless.control.plane.class=io.aiven.inkless.control_plane.PostgresControlPlane
inkless.control.plane.connection.string=jdbc:postgresql://db.example.com:5432/inkless
"""


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "server.properties"
    path.write_text(text)
    return path


def test_without_anything_a_broker_is_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = load_settings(None, {})
    assert loaded.unknown == []
    settings = loaded.settings
    assert settings.data_dir == tmp_path / "inkless-data"
    assert settings.storage.url == f"file://{tmp_path}/inkless-data/objects"
    assert settings.control_plane.url == f"sqlite://{tmp_path}/inkless-data/control-plane.db"
    assert settings.server.listeners == (ListenerAddress("PLAINTEXT", "127.0.0.1", 9092),)
    assert settings.produce.put_rate_max == 0


def test_example_of_the_java_broker_is_understood(tmp_path: Path) -> None:
    loaded = load_settings(_file(tmp_path, EXAMPLE), {})
    assert loaded.unknown == []
    settings = loaded.settings
    assert settings.server.rack == "us-east-1a"
    assert settings.storage.url == "s3://my-bucket"
    assert settings.storage.s3_region == "us-east-1"
    assert settings.control_plane.url == "postgresql://db.example.com:5432/inkless"


def test_override_beats_file_beats_default(tmp_path: Path) -> None:
    path = _file(tmp_path, "node.id=1\nnum.partitions=3\n")
    server = load_settings(path, {"broker.id": "2"}).settings.server
    assert (server.node_id, server.partitions_default, server.connections_max) == (2, 3, 4096)


def test_alias_that_contradicts_its_key_in_one_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=re.escape("node.id and broker.id are the same setting")):
        load_settings(_file(tmp_path, "node.id=1\nbroker.id=2\n"), {})
    assert load_settings(_file(tmp_path, "node.id=1\nbroker.id=1\n"), {}).settings.server.node_id == 1


def test_unknown_key_is_returned_with_the_nearest_known_one() -> None:
    unknown = load_settings(None, {"num.partition": "3", "zookeeper.connect": "z:2181"}).unknown
    assert unknown == [
        UnknownKey("num.partition", "num.partitions"),
        UnknownKey("zookeeper.connect", None),
    ]
    assert str(unknown[0]) == "unknown configuration key num.partition; did you mean num.partitions?"


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("num.partitions", "0", "from 1 to 10000"),
        ("num.partitions", "ten", "from 1 to 10000"),
        ("auto.create.topics.enable", "yes", "true or false"),
        ("inkless.produce.settle.ms", "nan", "a number from 0"),
        ("inkless.log.format", "xml", "one of text, json"),
        ("listeners", "localhost:9092", "NAME://host:port"),
        ("listeners", "", "NAME://host:port"),
        ("listeners", "A://h:1,A://h:2", "each name once"),
        ("listeners", "A://h:65536", "NAME://host:port"),
        ("listeners", "A://::1:9092", "NAME://host:port"),
        ("inkless.metrics.listen", "9100", "host:port"),
        ("inkless.data.dir", "", "the path of a folder"),
        ("log.retention.hours", "soon", "an integer"),
        ("log.diskless.enable", "false", "only true"),
        ("compression.type", "zstd", "only producer"),
        ("listener.security.protocol.map", "A:TLS", "NAME:PROTOCOL"),
    ],
)
def test_bad_value_names_key_value_and_what_is_allowed(key: str, value: str, allowed: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(None, {key: value})
    message = str(caught.value)
    assert message.startswith(f"{key}: {value!r} is not allowed")
    assert allowed in message


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"listeners": "SSL://:9093"}, "listeners: SSL needs a security protocol"),
        (
            {"listeners": "OUT://:9093", "listener.security.protocol.map": "OUT:SASL_SSL"},
            "listeners: OUT needs a security protocol",
        ),
        ({"advertised.listeners": "OUT://h:1"}, "advertised.listeners: OUT is not one of the listeners"),
        ({"advertised.listeners": "PLAINTEXT://:1"}, "no address that a client can connect to"),
        ({"inter.broker.listener.name": "IN"}, "inter.broker.listener.name: 'IN' is none of"),
        ({"socket.request.max.bytes": "2000000000"}, "queued.max.request.bytes: 134217728 is less than"),
        ({"inkless.produce.buffer.max.bytes": "200000000"}, "inkless.produce.memory.max.bytes"),
        ({"group.max.session.timeout.ms": "5"}, "group.max.session.timeout.ms: 5 is less than"),
        ({"inkless.storage.url": "ftp://host"}, "inkless.storage.url: a URL that begins with 'ftp'"),
        ({"inkless.storage.url": "folder"}, "inkless.storage.url: a URL"),
        ({"inkless.control.plane.url": "mysql://u:secret@h"}, "inkless.control.plane.url: a URL"),
        ({"inkless.storage.s3.bucket.name": "b"}, "neither inkless.storage.backend.class nor"),
        ({"inkless.storage.backend.class": "S3Storage"}, "inkless.storage.s3.bucket.name: is not set"),
        ({"inkless.storage.backend.class": "a.b.TapeStorage"}, "'a.b.TapeStorage' is not allowed"),
        ({"inkless.control.plane.class": "PostgresControlPlane"}, "connection.string: is not set"),
        ({"inkless.control.plane.class": "Zookeeper"}, "'Zookeeper' is not allowed"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(overrides: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)) as caught:
        load_settings(None, overrides)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "url"),
    [
        ({"inkless.storage.backend.class": "x.GcsStorage", "inkless.storage.gcs.bucket.name": "b"}, "gs://b"),
        (
            {
                "inkless.storage.backend.class": "AzureBlobStorage",
                "inkless.storage.azure.container.name": "c",
                "inkless.object.key.prefix": "/p/",
            },
            "az://c/p",
        ),
        ({"inkless.storage.backend.class": "InMemoryStorage"}, "memory://"),
        ({"inkless.storage.backend.class": "S3Storage", "inkless.storage.url": "s3://u/p"}, "s3://u/p"),
    ],
)
def test_storage_class_becomes_a_url(overrides: dict[str, str], url: str) -> None:
    assert load_settings(None, overrides).settings.storage.url == url


def test_puts_are_limited_only_where_they_cost_money() -> None:
    def rate(**extra: str) -> float:
        overrides = {key.replace("_", "."): value for key, value in extra.items()}
        return load_settings(None, overrides).settings.produce.put_rate_max

    assert rate(inkless_storage_url="memory://") == 0
    assert rate(inkless_storage_url="s3://b") == 20
    assert rate(inkless_storage_url="s3://b", inkless_produce_max_puts_per_second="0") == 0


def test_plain_http_is_allowed_where_the_endpoint_asks_for_it() -> None:
    endpoint = {"inkless.storage.s3.endpoint.url": "http://127.0.0.1:8333"}
    assert load_settings(None, endpoint).settings.storage.s3_allow_http
    refused = {**endpoint, "inkless.storage.s3.allow.http": "false"}
    assert not load_settings(None, refused).settings.storage.s3_allow_http


def test_listeners_are_read_with_names_and_ipv6() -> None:
    overrides = {
        "listeners": "plaintext://:9092, CLIENT_A://[::1]:0",
        "advertised.listeners": "CLIENT_A://broker.example.com:19092",
        "inkless.metrics.listen": "[::1]:9100",
    }
    server = load_settings(None, overrides).settings.server
    assert server.listeners == (
        ListenerAddress("PLAINTEXT", "0.0.0.0", 9092),
        ListenerAddress("CLIENT_A", "::1", 0),
    )
    assert server.advertised_listeners[0].port == 19092
    assert server.metrics_address == HostPort("::1", 9100)


def test_secrets_are_not_shown() -> None:
    overrides = {
        "inkless.storage.s3.secret.access.key": "hush-1",
        "inkless.control.plane.url": "postgresql://u:hush-2@h/d",
        "inkless.control.plane.password": "hush-3",
    }
    settings = load_settings(None, overrides).settings
    assert settings.storage.s3_secret_key == "hush-1"
    assert "hush" not in repr(settings)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a=\\u12", b"#" * (1024 * 1024 + 1)])
def test_file_that_cannot_be_used_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "server.properties"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=re.escape(str(path))):
        load_settings(path, {})
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_settings(tmp_path / "absent", {})


def test_every_key_is_declared_once() -> None:
    spellings = [name for key in declared_keys() for name in (key.name, *key.aliases)]
    assert len(spellings) == len(set(spellings))
    assert not set(spellings) & set(SYNONYMS)


def test_every_default_survives_being_written_and_read() -> None:
    for key in declared_keys():
        text = key.kind.render(key.default)
        if text or not key.derived:
            assert key.kind.parse(text) == key.default, key.name
        assert key.doc.endswith("."), key.name


def test_every_field_of_every_section_has_a_key() -> None:
    for section in SECTIONS.values():
        declared = {bound.field_name for bound in keys_of(section.declared_by)}
        assert declared == set(section.declared_by.__dataclass_fields__)

"""The commands from end to end, each against a real broker in this process."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from inkless.cli.app import inkless
from inkless.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def topic(broker: Broker) -> str:
    return broker.create_topic(partitions=2)


def call(broker: Broker, *arguments: str, stdin: bytes | None = None, exit_code: int = 0) -> Result:
    environment = {"INKLESS_BOOTSTRAP": broker.bootstrap_servers}
    result = CliRunner().invoke(inkless, arguments, input=stdin, env=environment)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == exit_code, result.output
    return result


def consumed(broker: Broker, topic: str, *options: str) -> list[str]:
    return call(broker, "consume", topic, "--exit-at-end", *options).stdout.splitlines()


def test_what_is_produced_is_consumed(broker: Broker, topic: str) -> None:
    call(broker, "produce", topic, "-p", "0", "one", "two")
    assert consumed(broker, topic, "--from-beginning") == ["one", "two"]


def test_lines_of_stdin_become_records_with_keys_and_headers(broker: Broker, topic: str) -> None:
    options = ("--key-separator", ":", "--null", "NULL", "-H", "source=test", "-p", "1", "--codec", "zstd")
    call(broker, "produce", topic, *options, stdin=b"a:1\nb:NULL\nc:\xff")
    records = [json.loads(line) for line in consumed(broker, topic, "--from-beginning", "--json")]
    assert [(r["key"], r["value"]) for r in records] == [("a", "1"), ("b", None), ("c", {"base64": "/w=="})]
    assert all(r["headers"] == [["source", "test"]] and r["partition"] == 1 for r in records)


def test_lines_before_a_bad_one_are_stored(broker: Broker, topic: str) -> None:
    failed = call(broker, "produce", topic, "--key-separator", ":", stdin=b"a:1\nb:2\nbad\nc:3", exit_code=1)
    assert "line 3 of the input" in failed.stderr
    assert sorted(consumed(broker, topic, "--from-beginning")) == ["1", "2"]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("acks", ["1", "all"])
def test_every_codec_comes_back_as_it_went(broker: Broker, topic: str, codec: str, acks: str) -> None:
    call(broker, "produce", topic, "--codec", codec, "--acks", acks, "x" * 5000)
    assert consumed(broker, topic, "--from-beginning") == ["x" * 5000]


def test_a_summary_of_what_was_produced_can_be_read_by_programs(broker: Broker, topic: str) -> None:
    summary = json.loads(call(broker, "produce", topic, "-p", "1", "--json", "a", "b", "c").stdout)
    assert summary == {
        "topic": topic,
        "records": 3,
        "partitions": [{"partition": 1, "first_offset": 0, "last_offset": 2}],
    }


def test_an_unknown_topic_is_created_by_producing_to_it(broker: Broker) -> None:
    call(broker, "produce", "made-by-produce", "hello")
    assert consumed(broker, "made-by-produce", "--from-beginning") == ["hello"]


def test_reading_may_begin_anywhere(broker: Broker, topic: str) -> None:
    call(broker, "produce", topic, "-p", "0", *"abcde")
    assert consumed(broker, topic, "-p", "0", "--offset", "3") == ["d", "e"]
    assert consumed(broker, topic, "-p", "0", "--offset", "-1") == ["e"]
    assert consumed(broker, topic, "--offset", "-99") == list("abcde")
    assert consumed(broker, topic, "--from-timestamp", "0") == list("abcde")
    assert consumed(broker, topic) == []


def test_reading_stops_after_as_many_as_were_asked_for(broker: Broker, topic: str) -> None:
    call(broker, "produce", topic, "-p", "0", *"abcde")
    result = call(
        broker, "consume", topic, "--from-beginning", "--max-messages", "2", "-f", "{offset}{value} "
    )
    assert result.stdout == "0a 1b "


def test_what_is_not_there_cannot_be_consumed(broker: Broker, topic: str) -> None:
    assert "UNKNOWN_TOPIC" in call(broker, "consume", "no-such-topic", exit_code=1).stderr
    assert "has no partition 7" in call(broker, "consume", topic, "-p", "7", exit_code=1).stderr
    beyond = call(broker, "consume", topic, "-p", "0", "--offset", "5", exit_code=1)
    assert "'inkless topics describe' shows the earliest and the latest offset" in beyond.stderr


def test_a_topic_lives_from_create_to_delete(broker: Broker) -> None:
    call(broker, "topics", "create", "lifecycle", "-p", "3", "-c", "retention.ms=60000")
    call(broker, "topics", "create", "lifecycle", exit_code=1)
    assert "exists lifecycle" in call(broker, "topics", "create", "lifecycle", "--if-not-exists").stderr
    call(
        broker,
        "topics",
        "alter",
        "lifecycle",
        "-p",
        "4",
        "-c",
        "max.message.bytes=5000",
        "-d",
        "retention.ms",
    )
    (described,) = json.loads(call(broker, "topics", "describe", "lifecycle", "--json").stdout)
    assert [part["partition"] for part in described["partitions"]] == [0, 1, 2, 3]
    assert [(c["name"], c["value"]) for c in described["configs"]] == [("max.message.bytes", "5000")]
    call(broker, "topics", "delete", "lifecycle")
    call(broker, "topics", "delete", "lifecycle", exit_code=1)
    assert "unknown lifecycle" in call(broker, "topics", "delete", "lifecycle", "--if-exists").stderr


def test_describe_shows_where_partitions_begin_and_end(broker: Broker, topic: str) -> None:
    call(broker, "produce", topic, "-p", "1", "a", "b")
    rows = [line.split() for line in call(broker, "topics", "describe", topic).stdout.splitlines()]
    assert ["PARTITION", "LEADER", "REPLICAS", "EARLIEST", "LATEST", "RECORDS"] in rows
    assert ["0", "0", "0", "0", "0", "0"] in rows
    assert ["1", "0", "0", "0", "2", "2"] in rows


def test_configs_of_topics_can_be_set_and_reset(broker: Broker, topic: str) -> None:
    call(broker, "configs", "alter", "--topic", topic, "-c", "retention.ms=1234")
    assert "1234" in call(broker, "configs", "describe", "--topic", topic).stdout
    call(broker, "configs", "alter", "--topic", topic, "-d", "retention.ms")
    assert json.loads(call(broker, "configs", "describe", "--topic", topic, "--json").stdout) == []
    everything = call(broker, "configs", "describe", "--topic", topic, "--all").stdout
    assert "retention.ms" in everything


def test_a_config_that_does_not_exist_is_refused(broker: Broker, topic: str) -> None:
    refused = call(broker, "configs", "alter", "--topic", topic, "-c", "retention.weeks=1", exit_code=1)
    assert "retention.weeks" in refused.stderr


def test_status_and_brokers_show_the_cluster(broker: Broker, topic: str) -> None:
    status = json.loads(call(broker, "status", "--json").stdout)
    assert [b["port"] for b in status["brokers"]] == [broker.port]
    assert status["partitions"] >= 2
    assert status["partitions_without_leader"] == 0
    assert "PRODUCE" in status["api_versions"]
    assert status["cluster_id"] in call(broker, "status").stdout
    assert str(broker.port) in call(broker, "brokers").stdout
    assert topic in call(broker, "topics", "list").stdout


def test_perf_measures_what_was_written_and_read(broker: Broker) -> None:
    written = call(broker, "perf", "produce", "perf", "-p", "2", "-n", "500", "-s", "100", "--json")
    result = json.loads(written.stdout)
    assert (result["records"], result["bytes"], result["failed"]) == (500, 50_000, 0)
    assert 0 < result["latency_ms"]["p50"] <= result["latency_ms"]["max"]
    assert json.loads(call(broker, "perf", "consume", "perf", "--json").stdout)["records"] == 500
    assert "throughput:" in call(broker, "perf", "consume", "perf").stdout


def test_perf_at_a_rate_takes_its_time(broker: Broker) -> None:
    arguments = ("perf", "produce", "perf-rate", "-p", "1", "-n", "50", "--rate", "1000", "--json")
    result = json.loads(call(broker, *arguments).stdout)
    assert result["elapsed_s"] >= 0.049


def test_a_load_on_a_topic_that_is_not_there_measures_nothing(broker: Broker) -> None:
    assert "UNKNOWN_TOPIC" in call(broker, "perf", "produce", "mistyped", exit_code=1).stderr


def test_serving_on_a_taken_port_says_so(broker: Broker, tmp_path: Path) -> None:
    listeners = f"listeners=PLAINTEXT://{broker.bootstrap_servers}"
    refused = call(broker, "serve", "-o", listeners, "-o", f"inkless.data.dir={tmp_path}", exit_code=1)
    assert f"{broker.bootstrap_servers} is in use" in refused.stderr

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from inkless.client.admin import Admin
from inkless.client.cluster import Cluster
from inkless.client.topology import parse_bootstrap
from inkless.clock import SystemClock, SystemEntropy
from inkless.errors import ConfigurationError, RequestError
from inkless.protocol.error_codes import ErrorCode
from inkless.testing import Broker

pytest_plugins = ["pytester"]


async def topic_partitions(broker: Broker) -> dict[str, int]:
    async with Cluster(
        parse_bootstrap(broker.bootstrap_servers), clock=SystemClock(), entropy=SystemEntropy()
    ) as cluster:
        return {topic.name: len(topic.partitions) for topic in await Admin(cluster).list_topics()}


async def test_a_broker_serves_as_plain_and_as_asynchronous_context_manager() -> None:
    with Broker() as plain:
        assert await topic_partitions(plain) == {}
    async with Broker() as asynchronous:
        assert await topic_partitions(asynchronous) == {}


async def test_two_brokers_are_two_clusters() -> None:
    with Broker() as one, Broker() as other:
        one.create_topic("only-here", partitions=3)
        assert await topic_partitions(one) == {"only-here": 3}
        assert await topic_partitions(other) == {}


def test_topics_without_a_name_get_one_of_their_own() -> None:
    with Broker() as broker:
        assert broker.create_topic() != broker.create_topic()


def test_a_refused_topic_raises_the_brokers_error() -> None:
    with Broker() as broker:
        broker.create_topic("taken")
        with pytest.raises(RequestError) as caught:
            broker.create_topic("taken")
        assert caught.value.code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_options_are_configuration_keys() -> None:
    with pytest.raises(ConfigurationError, match=r"num\.partitions"):
        Broker(num_partitions="many").start()


def test_an_option_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match=r"num\.partitons.*did you mean num\.partitions"):
        Broker(num_partitons=3).start()


async def test_a_data_dir_outlives_the_broker(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path) as first:
        first.create_topic("kept", partitions=2)
    with Broker(data_dir=tmp_path) as second:
        assert await topic_partitions(second) == {"kept": 2}


def test_nobody_listens_after_stop_and_stopping_twice_is_stopping_once() -> None:
    broker = Broker().start()
    port = broker.port
    broker.stop()
    broker.stop()
    assert not broker.is_running
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_what_stops_a_broker_from_starting_is_raised_to_the_one_who_starts_it() -> None:
    with Broker() as first, pytest.raises(OSError, match="in use"):
        Broker(listeners=f"PLAINTEXT://{first.bootstrap_servers}").start()


def test_an_unstarted_broker_has_no_address() -> None:
    with pytest.raises(RuntimeError, match="not running"):
        _ = Broker().bootstrap_servers


def test_the_plugin_loads_nothing_of_the_broker() -> None:
    program = (
        "import sys, inkless.testing.pytest_plugin\n"
        "ours = {name for name in sys.modules if name.startswith('inkless')}\n"
        "print(ours - {'inkless', 'inkless.testing', 'inkless.testing.pytest_plugin'} or '', end='')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""


def test_the_fixtures_hand_out_a_running_broker_and_new_topics(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture(scope="session")
        def inkless_broker_options():
            return {"num_partitions": 2}

        seen = set()

        @pytest.mark.parametrize("turn", [1, 2])
        def test_broker(inkless_broker, inkless_topic, turn):
            assert inkless_broker.is_running
            assert inkless_topic not in seen
            seen.add(inkless_topic)
        """
    )
    outcome = pytester.runpytest_subprocess()
    outcome.assert_outcomes(passed=2)

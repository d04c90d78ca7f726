"""One broker for all attacks, and a client beside each that must not notice them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clients.confluent_client import create_topic
from support.broker_process import BrokerProcess, running_broker
from support.bystander import Bystander

MEMORY_BYTES_MAX = 600 * 1024 * 1024
BYSTANDER_TOPIC = "bystander"


@pytest.fixture(scope="session")
def attacked_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    folder: Path = tmp_path_factory.mktemp("attacked")
    with running_broker(folder, {"auto.create.topics.enable": "false"}) as broker:
        create_topic(broker.bootstrap, BYSTANDER_TOPIC)
        yield broker


@pytest.fixture
def broker(attacked_broker: BrokerProcess) -> Iterator[BrokerProcess]:
    """The broker with a bystander on it; afterwards it still runs, within its memory."""
    log_start = attacked_broker.log_length
    with Bystander(attacked_broker.port, BYSTANDER_TOPIC) as bystander:
        yield attacked_broker
    assert bystander.round_count > 0
    assert attacked_broker.memory_peak_bytes() < MEMORY_BYTES_MAX
    # An exception that nobody expected closes the connection too, but it is our mistake, not the client's.
    assert "Traceback" not in attacked_broker.log_since(log_start)

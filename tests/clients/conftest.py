"""One broker process for all client tests: they keep apart by their topics."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from support.broker_process import BrokerProcess, running_broker
from support.seaweedfs import s3_server

__all__ = ["s3_server"]

_numbers = itertools.count()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path_factory.mktemp("broker"), {"num.partitions": "2"}) as running:
        yield running


@pytest.fixture(scope="session")
def new_topic_name() -> Callable[[str], str]:
    """Gives names that no other test has."""
    return lambda stem: f"{stem}-{next(_numbers)}"

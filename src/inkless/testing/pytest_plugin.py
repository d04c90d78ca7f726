"""Fixtures for the tests of users: registered by the package's entry point, loaded in every pytest run.

`inkless_broker` is one broker for the whole session, started at its first use: starting is quick, but not as
quick as not starting. Tests keep apart by the topics they use; `inkless_topic` gives each test a new one.
A test that must stop or configure a broker makes its own with `inkless.testing.Broker`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from inkless.testing.broker import Broker


@pytest.fixture(scope="session")
def inkless_broker_options() -> dict[str, Any]:
    """Options of the session's broker; override this fixture in a conftest to change them."""
    return {}


@pytest.fixture(scope="session")
def inkless_broker(inkless_broker_options: dict[str, Any]) -> "Iterator[Broker]":
    """A running broker, shared by all tests of the session; `bootstrap_servers` is its address."""
    from inkless.testing.broker import Broker

    with Broker(**inkless_broker_options) as broker:
        yield broker


@pytest.fixture
def inkless_topic(inkless_broker: "Broker") -> str:
    """The name of a new topic with one partition on the session's broker, used by this test alone."""
    return inkless_broker.create_topic()

"""A real broker inside a test process, and the pytest fixtures that hand it out.

    from inkless.testing import Broker

    with Broker(num_partitions=3) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

It is the production broker, wired by `inkless.compose` as `inkless serve` does it; only the place of its data
and its port are chosen for tests. It runs in a thread of its own with its own event loop, so that neither a
blocking test nor the loop of an asynchronous one gets in its way. Objects are kept in memory and the control
plane in a temporary folder, both gone after `stop()`; with `data_dir` everything is kept there and a second
broker can be started on it.

When a broker cannot start, the error that stopped it is raised where it was started; nothing is left behind.
Importing this package is cheap, because pytest imports the plugin in every run of everybody who has Inkless
installed: the broker is loaded when `Broker` is first asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inkless.testing.broker import Broker

__all__ = ["Broker"]


def __getattr__(name: str) -> Any:
    if name == "Broker":
        from inkless.testing.broker import Broker

        return Broker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

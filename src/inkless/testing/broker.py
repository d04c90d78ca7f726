"""A broker in a thread of its own, for as long as a test needs it."""

import asyncio
import contextlib
import tempfile
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

import uvloop

from inkless.client.admin import Admin, TopicSpec
from inkless.client.cluster import Cluster
from inkless.client.topology import parse_bootstrap
from inkless.clock import SystemClock, SystemEntropy
from inkless.compose import RunningBroker, start_broker
from inkless.errors import ConfigurationError, Unavailable
from inkless.settings import Settings, load_settings

Result = TypeVar("Result")
Option = str | int | float | bool | Path

START_TIMEOUT_S = 30.0
CALL_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 60.0
_A_DAY_MS = "86400000"


class _Started(NamedTuple):
    """What the broker's thread hands over once clients can connect."""

    loop: asyncio.AbstractEventLoop
    broker: RunningBroker
    stop_asked: asyncio.Event


class Broker:
    """A broker on a free loopback port; a context manager, plain and asynchronous.

    Keyword options are configuration keys with underscores for dots: `num_partitions=3` is
    `num.partitions=3`. A key that does not exist raises ConfigurationError, where `inkless serve` only warns:
    a test with a typing error in it would test something else.
    Without `data_dir` nothing outlives `stop()`. Retention is applied once a day unless
    `log_retention_check_interval_ms` says otherwise.

    The methods may be called from any thread. They wait for the broker, never for the caller's event loop.
    """

    def __init__(self, *, data_dir: Path | str | None = None, **options: Option) -> None:
        self._data_dir = data_dir
        self._options = options
        self._resources = contextlib.ExitStack()
        self._thread: threading.Thread | None = None
        self._started: _Started | None = None

    @property
    def port(self) -> int:
        """Where clients connect."""
        return self._running().broker.port

    @property
    def bootstrap_servers(self) -> str:
        """`host:port`, as every Kafka client wants it."""
        return self._running().broker.bootstrap

    @property
    def is_running(self) -> bool:
        return self._started is not None

    def start(self) -> Self:
        """Returns when clients can connect; raises what stopped the broker from starting."""
        if self._thread is not None:
            raise RuntimeError("this broker was started before; make another one")
        try:
            settings = self._settings()
            outcome: Future[_Started] = Future()
            self._thread = threading.Thread(
                target=self._run, args=(settings, outcome), name="inkless-broker", daemon=True
            )
            self._thread.start()
            self._started = outcome.result(START_TIMEOUT_S)
        except BaseException:
            self._resources.close()
            raise
        return self

    def stop(self) -> None:
        """Graceful: what was accepted is stored and answered first. Stopping twice is stopping once."""
        started, self._started = self._started, None
        if started is None or self._thread is None:
            return
        started.loop.call_soon_threadsafe(started.stop_asked.set)
        self._thread.join(STOP_TIMEOUT_S)
        if self._thread.is_alive():
            raise Unavailable(f"the broker did not stop within {STOP_TIMEOUT_S:.0f} s")
        self._resources.close()

    def create_topic(
        self, name: str | None = None, *, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> str:
        """Makes a topic and gives its name; without a name, one that no other topic has."""
        topic = name or f"topic-{SystemEntropy().new_id().hex()[:12]}"
        spec = TopicSpec(topic, partition_count=partitions, configs=dict(configs or {}))
        self._call(_create_topic(self.bootstrap_servers, spec))
        return topic

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)

    def _settings(self) -> Settings:
        # Records of tests often have fixed times long past, and must not vanish while the tests run.
        overrides = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.retention.check.interval.ms": _A_DAY_MS}
        if self._data_dir is None:
            overrides["inkless.data.dir"] = self._resources.enter_context(
                tempfile.TemporaryDirectory(prefix="inkless-", ignore_cleanup_errors=True)
            )
            overrides["inkless.storage.url"] = "memory://"
        else:
            overrides["inkless.data.dir"] = str(self._data_dir)
        overrides.update(
            {name.replace("_", "."): _option_text(value) for name, value in self._options.items()}
        )
        loaded = load_settings(None, overrides)
        if loaded.unknown:
            raise ConfigurationError("; ".join(str(unknown) for unknown in loaded.unknown))
        return loaded.settings

    def _run(self, settings: Settings, outcome: "Future[_Started]") -> None:
        """The thread: anything that goes wrong before the hand-over belongs to the one who waits for it."""
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_serve(settings, outcome))
        except BaseException as error:
            if outcome.done():
                raise
            outcome.set_exception(error)

    def _running(self) -> _Started:
        if self._started is None:
            raise RuntimeError("the broker is not running; use it inside 'with Broker() as broker:'")
        return self._started

    def _call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(coroutine, self._running().loop).result(CALL_TIMEOUT_S)


async def _serve(settings: Settings, outcome: "Future[_Started]") -> None:
    broker = await start_broker(settings)
    stop_asked = asyncio.Event()
    outcome.set_result(_Started(asyncio.get_running_loop(), broker, stop_asked))
    await stop_asked.wait()
    await broker.stop()


async def _create_topic(bootstrap: str, spec: TopicSpec) -> None:
    async with Cluster(parse_bootstrap(bootstrap), clock=SystemClock(), entropy=SystemEntropy()) as cluster:
        await Admin(cluster).create_topic(spec)


def _option_text(value: Option) -> str:
    """As a properties file spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)

"""The supervision of processes that stand for brokers: they say the same lines and do nothing else."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from inkless.cli import child_broker, child_supervision
from inkless.cli.child_broker import BANNER_END, READY_LINE, ChildBroker, describe_exit
from inkless.cli.child_supervision import RESTARTS_IN_A_ROW_MAX, Patience, StopRequest, Supervision
from inkless.cli.cluster import banner
from inkless.cli.cluster_plan import PlannedBroker, plan_brokers
from inkless.cli.serve import banner as broker_banner
from inkless.cli.session import CommandFailed
from inkless.clock import SystemClock

BANNER = broker_banner("127.0.0.1:9092", cluster_id="abc", data="inkless-data")
READY = f"print({BANNER!r}, flush=True); "
WAIT = "import signal; signal.pause()"
SERVES = READY + WAIT
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SERVES
FAILS = "print('Error: no'); raise SystemExit(3)"


class Trial:
    """A cluster whose brokers run the given programs; the same one for all when there is one."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *programs: str, restart: bool = False, **patience: float
    ) -> None:
        plan = plan_brokers(len(programs), zones=("a",), data_dir="unused", base_port=9092, overrides={})

        def command_line(planned: PlannedBroker) -> list[str]:
            return [sys.executable, "-S", "-c", programs[planned.node_id]]

        monkeypatch.setattr(child_broker, "command_line", command_line)
        self.said: list[str] = []
        self.stop = StopRequest()
        self.children = [ChildBroker(each, self.said.append) for each in plan]
        self.supervision = Supervision(
            self.children,
            stop=self.stop,
            restart=restart,
            patience=Patience(**patience),
            say=self.say,
            clock=SystemClock(),
        )
        self._waiting: list[tuple[str, asyncio.Event]] = []

    def say(self, line: str) -> None:
        self.said.append(line)
        for part, heard in self._waiting:
            if part in line:
                heard.set()

    def hears(self, part: str) -> "asyncio.Event":
        heard = asyncio.Event()
        self._waiting.append((part, heard))
        return heard

    async def run(self, on_ready: Callable[[], None] | None = None) -> None:
        await self.supervision.run(on_ready or self.stop.repeat)

    def kill(self, place: int) -> None:
        pid = self.children[place].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)


async def test_all_are_ready_and_all_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(monkeypatch, SERVES, SERVES, SERVES)
    pids: list[int | None] = []

    def on_ready() -> None:
        pids.extend(child.pid for child in trial.children)
        trial.stop.repeat()

    await trial.run(on_ready)
    assert trial.said == []
    assert len(pids) == 3
    for pid in pids:
        assert pid is not None
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_lines_carry_the_number_of_their_broker_and_the_banner_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    after = READY + "print('later', flush=True); raise SystemExit(0)"
    trial = Trial(monkeypatch, "print('first')\n" + SERVES, "print('second')\n" + after)
    await asyncio.gather(*(child.run() for child in trial.children[1:]))
    assert trial.said == ["[1] second", "[1] later"]


def test_the_banner_of_a_broker_begins_and_ends_as_it_is_looked_for() -> None:
    first, *_, last = BANNER.splitlines()
    assert first.startswith(READY_LINE)
    assert last.startswith(BANNER_END)


async def test_a_line_without_end_comes_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(monkeypatch, "print('x' * 300_000, end='')")
    assert await trial.children[0].run() == 0
    assert "".join(line.removeprefix("[0] ") for line in trial.said) == "x" * 300_000
    assert all(len(line) < 100_000 for line in trial.said)


async def test_one_that_fails_at_the_start_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(monkeypatch, SERVES, FAILS)
    with pytest.raises(CommandFailed, match=r"broker 1 ended with exit code 3 .*Error: no"):
        await trial.run()
    assert [child.pid for child in trial.children] == [None, None]


async def test_one_that_is_never_ready_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(monkeypatch, WAIT, start_s=0.05)
    with pytest.raises(CommandFailed, match=r"not ready after 0\.05 s: broker 0"):
        await trial.run()
    assert trial.children[0].pid is None


async def test_a_stop_during_the_start_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(monkeypatch, WAIT)
    trial.stop.repeat()
    await trial.run(lambda: pytest.fail("was never ready"))


async def test_one_that_does_not_stop_in_time_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(monkeypatch, STUBBORN, SERVES, stop_s=0.5)
    await trial.run()
    assert trial.said == ["broker 0 is killed"]


async def test_a_repeated_request_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(monkeypatch, STUBBORN, stop_s=1000)

    def insist() -> None:
        trial.stop.repeat()
        trial.stop.repeat()

    await trial.run(insist)
    assert trial.said == ["broker 0 is killed"]


async def test_one_that_dies_later_is_reported_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(monkeypatch, SERVES, SERVES)
    first, second = trial.hears("broker 0 was ended by SIGKILL"), trial.hears("broker 1")

    async def kill_both() -> None:
        trial.kill(0)
        await first.wait()
        assert not second.is_set()
        trial.kill(1)

    tasks: list[asyncio.Task[None]] = []
    with pytest.raises(CommandFailed, match="no broker is left"):
        await trial.run(lambda: tasks.append(asyncio.create_task(kill_both())))
    await asyncio.gather(*tasks)


async def test_one_that_dies_is_started_again_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_supervision, "_RESTART_PAUSE_S", 0.0)
    trial = Trial(monkeypatch, SERVES, restart=True)
    back = trial.hears("broker 0 is back")

    async def kill_and_stop() -> None:
        before = trial.children[0].pid
        trial.kill(0)
        await back.wait()
        assert trial.children[0].pid not in (None, before)
        trial.stop.repeat()

    tasks: list[asyncio.Task[None]] = []
    await trial.run(lambda: tasks.append(asyncio.create_task(kill_and_stop())))
    await asyncio.gather(*tasks)


async def test_restarts_in_a_row_are_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(child_supervision, "_RESTART_PAUSE_S", 0.0)
    mark = str(tmp_path / "was here")
    serves_once = (
        f"import os\nif os.path.exists({mark!r}):\n  raise SystemExit(3)\nopen({mark!r}, 'w').close()\n"
    )
    trial = Trial(monkeypatch, serves_once + SERVES, restart=True)
    with pytest.raises(CommandFailed, match="no broker is left"):
        await trial.run(lambda: trial.kill(0))
    failed = [line for line in trial.said if line == "broker 0 ended with exit code 3"]
    assert len(failed) == RESTARTS_IN_A_ROW_MAX
    assert trial.said[-1] == f"broker 0 was restarted {RESTARTS_IN_A_ROW_MAX} times in a row and is left"


async def test_a_stop_during_the_pause_before_a_restart_starts_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(child_supervision, "_RESTART_PAUSE_S", 1000.0)
    monkeypatch.setattr(child_supervision, "_RESTART_PAUSE_S_MAX", 1000.0)
    trial = Trial(monkeypatch, SERVES, restart=True)
    ended = trial.hears("broker 0 was ended")

    async def kill_and_stop() -> None:
        trial.kill(0)
        await ended.wait()
        trial.stop.repeat()

    tasks: list[asyncio.Task[None]] = []
    await trial.run(lambda: tasks.append(asyncio.create_task(kill_and_stop())))
    await asyncio.gather(*tasks)
    assert trial.children[0].pid is None


@pytest.mark.parametrize(
    ("code", "text"),
    [(0, "exit code 0"), (3, "exit code 3"), (-9, "SIGKILL"), (-200, "signal 200")],
)
def test_an_exit_is_described(code: int, text: str) -> None:
    assert text in describe_exit(code)


def test_the_table_has_a_line_for_every_broker() -> None:
    plan = plan_brokers(2, zones=("a", "b"), data_dir="d", base_port=9092, overrides={})
    lines = banner([ChildBroker(each, print) for each in plan], "d", "inkless").splitlines()
    assert lines[1].split() == ["BROKER", "ZONE", "ADDRESS", "PROCESS"]
    assert lines[2].split()[:3] == ["0", "a", "127.0.0.1:9092"]
    assert lines[3].split()[:3] == ["1", "b", "127.0.0.1:9093"]
    assert "inkless produce -b 127.0.0.1:9092,127.0.0.1:9093" in "\n".join(lines)

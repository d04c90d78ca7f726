import pytest

from inkless.client.cluster import Cluster, ClusterSettings
from inkless.client.topology import Address
from inkless.errors import InklessError, RequestError, Unavailable
from inkless.protocol.error_codes import ErrorCode


class HandClock:
    """Time that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.sleeps: list[float] = []

    def now_ms(self) -> int:
        return int(self.now * 1000)

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


class AlwaysHalf:
    def uniform(self) -> float:
        return 0.5

    def new_id(self) -> bytes:
        raise NotImplementedError


class Attempts:
    """Fails with each of the errors in turn, then succeeds."""

    def __init__(self, *errors: InklessError) -> None:
        self.errors = list(errors)
        self.count = 0

    async def __call__(self) -> str:
        self.count += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def cluster_with(clock: HandClock) -> Cluster:
    settings = ClusterSettings(operation_timeout_ms=1_000, retry_backoff_ms=100, retry_backoff_max_ms=200)
    return Cluster([Address("a", 1)], clock=clock, entropy=AlwaysHalf(), settings=settings)


async def test_passing_errors_are_tried_again_with_growing_pauses() -> None:
    clock = HandClock()
    attempts = Attempts(
        Unavailable("1"), RequestError(ErrorCode.NOT_CONTROLLER), Unavailable("3"), Unavailable("4")
    )
    assert await cluster_with(clock).retrying(attempts) == "done"
    assert clock.sleeps == pytest.approx([0.075, 0.15, 0.15, 0.15])


async def test_other_errors_are_raised_at_once() -> None:
    attempts = Attempts(RequestError(ErrorCode.INVALID_CONFIG))
    with pytest.raises(RequestError):
        await cluster_with(HandClock()).retrying(attempts)
    assert attempts.count == 1


async def test_a_caller_can_call_a_passing_error_fatal() -> None:
    attempts = Attempts(RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    fatal = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
    with pytest.raises(RequestError):
        await cluster_with(HandClock()).retrying(attempts, fatal=fatal)
    assert attempts.count == 1


async def test_the_last_error_is_raised_when_the_deadline_would_pass() -> None:
    clock = HandClock()
    attempts = Attempts(*(Unavailable(str(number)) for number in range(100)))
    with pytest.raises(Unavailable) as caught:
        await cluster_with(clock).retrying(attempts)
    assert str(caught.value) == str(attempts.count - 1)
    assert clock.now < 101.0
    assert attempts.count > 3

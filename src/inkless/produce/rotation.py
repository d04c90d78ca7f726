"""When the active object is closed. Pure: times come in, a delay goes out.

An idle broker must not wait, a busy one must not write a thousand small objects. So the object is closed when
its clients have fallen silent for `settle_ms`, since whoever waits for an answer sends nothing more; at the
latest `linger_ms` after its first byte while no upload is running; and when the last upload has ended and
more is waiting. `commit_interval_ms` bounds the wait in every case, and a full object is closed at once.

Patience is measured by what an upload takes: where it takes 50 ms, waiting 3 ms of silence or 12 ms in all
for the rest of a burst costs little and saves a second upload that the rest would have had to wait for.

Where PUTs are limited because they cost money, a spare one buys latency and a scarce one is shared: with few
left, nothing is closed while an object is on its way, and what arrives meanwhile travels together.
"""

from typing import NamedTuple

from inkless.settings import ProduceSettings

_SETTLE_SHARE = 1 / 16
_LINGER_SHARE = 1 / 4


class PutAllowance:
    """A token bucket for PUTs that closed an object before it was full, and so for the bill.

    Holds at most one second's worth. A rate of 0 means no limit. Full objects are not limited: they cost the
    least per byte, and holding them back would only stop the producers.
    """

    def __init__(self, rate_max: float) -> None:
        self._rate_max = rate_max
        self._burst = max(1.0, rate_max)
        self._tokens = self._burst
        self._plentiful = True
        self._refilled_at = 0.0

    def wait_s(self, now: float) -> float:
        """Seconds until a token is there; 0 when one is."""
        if self._rate_max <= 0:
            return 0.0
        elapsed = max(0.0, now - self._refilled_at)
        self._refilled_at = now
        self._tokens = min(self._burst, self._tokens + elapsed * self._rate_max)
        return 0.0 if self._tokens >= 1.0 else (1.0 - self._tokens) / self._rate_max

    @property
    def is_plentiful(self) -> bool:
        """As of the last `wait_s`. Scarce below half, plentiful again when nearly full: at one threshold both
        ways of spending would alternate, with the drawbacks of each."""
        if self._tokens < self._burst / 2:
            self._plentiful = False
        elif self._tokens >= self._burst * 0.9:
            self._plentiful = True
        return self._plentiful

    def take(self) -> None:
        if self._rate_max > 0:
            self._tokens -= 1.0


class Situation(NamedTuple):
    """What the decision rests on; times are monotonic seconds."""

    now: float
    first_append_at: float
    last_append_at: float
    uploads_running: int
    objects_unsettled: int
    """Closed, but not yet uploaded and committed."""
    answered_at: float
    """When producers were last told that an object is committed."""
    upload_s: float
    """What an upload has taken of late."""
    puts_plentiful: bool


def due_in_s(settings: ProduceSettings, at: Situation) -> float:
    """Seconds until the object should be closed if nothing more arrives; 0 or less means now."""
    settle_s = max(settings.settle_ms / 1000, at.upload_s * _SETTLE_SHARE)
    linger_s = max(settings.linger_ms / 1000, at.upload_s * _LINGER_SHARE)
    due_at = at.first_append_at + settings.commit_interval_ms / 1000
    if at.puts_plentiful:
        if at.uploads_running < settings.uploads_max:
            due_at = min(due_at, at.last_append_at + settle_s)
        if at.uploads_running == 0:
            due_at = min(due_at, at.first_append_at + linger_s)
    elif at.objects_unsettled == 0:
        # Who has just been answered is about to send more, which shall not need an upload of its own.
        silent_since = max(at.last_append_at, at.answered_at)
        waiting_since = max(at.first_append_at, at.answered_at)
        due_at = min(due_at, silent_since + settle_s, waiting_since + linger_s)
    return due_at - at.now

"""When the active object is closed. Pure: times come in, a delay goes out.

An idle broker must not wait, a busy one must not write a thousand small objects. So the object is closed when
its clients have fallen silent for `settle_ms`, since whoever waits for an answer sends nothing more; at the
latest `linger_ms` after its first byte while no upload is running; and when an upload has ended and more is
waiting. `commit_interval_ms` bounds the wait in every case, and a full object is closed at once.
"""

from inkless.settings import ProduceSettings


class PutAllowance:
    """A token bucket for PUTs that closed an object before it was full, and so for the bill.

    Holds at most one second's worth. A rate of 0 means no limit. Full objects are not limited: they cost the
    least per byte, and holding them back would only stop the producers.
    """

    def __init__(self, rate_max: float) -> None:
        self._rate_max = rate_max
        self._burst = max(1.0, rate_max)
        self._tokens = self._burst
        self._refilled_at = 0.0

    def wait_s(self, now: float) -> float:
        """Seconds until a token is there; 0 when one is."""
        if self._rate_max <= 0:
            return 0.0
        elapsed = max(0.0, now - self._refilled_at)
        self._refilled_at = now
        self._tokens = min(self._burst, self._tokens + elapsed * self._rate_max)
        return 0.0 if self._tokens >= 1.0 else (1.0 - self._tokens) / self._rate_max

    def take(self) -> None:
        if self._rate_max > 0:
            self._tokens -= 1.0


def due_in_s(
    settings: ProduceSettings,
    *,
    now: float,
    first_append_at: float,
    last_append_at: float,
    uploads_running: int,
) -> float:
    """Seconds until the object should be closed if nothing more arrives; 0 or less means now."""
    due_at = first_append_at + settings.commit_interval_ms / 1000
    if uploads_running < settings.uploads_max:
        due_at = min(due_at, last_append_at + settings.settle_ms / 1000)
    if uploads_running == 0:
        due_at = min(due_at, first_append_at + settings.linger_ms / 1000)
    return due_at - now

import io

from inkless.cli.latency import LatencyHistogram
from inkless.cli.perf_report import LoadResult, ProgressLine


class HandClock:
    """Time that moves when the test says so."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def now_ms(self) -> int:
        return int(self.seconds * 1000)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def result_of(records: int, byte_count: int, elapsed_s: float) -> LoadResult:
    latencies = LatencyHistogram()
    latencies.observe(2.0, count=records)
    return LoadResult(records=records, byte_count=byte_count, elapsed_s=elapsed_s, latencies=latencies)


def test_progress_shows_the_rates_since_the_last_line() -> None:
    clock, stream = HandClock(), io.StringIO()
    progress = ProgressLine(stream, clock, in_flight_label="in flight")
    clock.seconds += 10
    progress.update(10_000, 50_000_000, 7)
    clock.seconds += 10
    progress.update(30_000, 60_000_000, 0)
    assert stream.getvalue().splitlines() == [
        "10,000 records  1,000 records/s  5.0 MB/s  7 in flight",
        "30,000 records  2,000 records/s  1.0 MB/s  0 in flight",
    ]


def test_progress_is_silent_between_its_times() -> None:
    clock, stream = HandClock(), io.StringIO()
    progress = ProgressLine(stream, clock)
    for _ in range(40):
        clock.seconds += 0.1
        progress.update(1, 1)
    assert stream.getvalue() == ""


def test_a_terminal_line_is_rewritten_and_taken_away() -> None:
    clock, stream = HandClock(), Terminal()
    progress = ProgressLine(stream, clock)
    clock.seconds += 1
    progress.update(1000, 0)
    progress.close()
    written = stream.getvalue()
    assert "\n" not in written
    assert written.startswith("\r1,000 records")
    assert written.endswith(" \r")


def test_a_result_reports_rates_and_percentiles() -> None:
    result = result_of(records=1000, byte_count=10_000_000, elapsed_s=4.0)
    report = result.as_json()
    assert (report["records_per_s"], report["mb_per_s"]) == (250.0, 2.5)
    assert report["latency_ms"] == {"mean": 2.0, "p50": 2.0, "p95": 2.0, "p99": 2.0, "max": 2.0}
    assert "250 records/s  2.5 MB/s" in result.as_text()


def test_a_run_of_no_time_has_no_rate() -> None:
    assert result_of(records=0, byte_count=0, elapsed_s=0.0).as_json()["records_per_s"] == 0.0

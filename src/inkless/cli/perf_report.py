"""What a load test tells: a line while it runs, a summary when it is done."""

from dataclasses import dataclass
from typing import Any, TextIO

from inkless.cli.latency import LatencyHistogram
from inkless.cli.tables import format_count, format_fields
from inkless.clock import Clock

TERMINAL_INTERVAL_S = 0.5
LOG_INTERVAL_S = 5.0
MEGABYTE = 1_000_000


class ProgressLine:
    """One line on stderr: rewritten in place on a terminal, a new line now and then in a log."""

    def __init__(self, stream: TextIO, clock: Clock, *, in_flight_label: str | None = None) -> None:
        self._stream = stream
        self._clock = clock
        self._in_flight_label = in_flight_label
        self._on_terminal = stream.isatty()
        self._interval_s = TERMINAL_INTERVAL_S if self._on_terminal else LOG_INTERVAL_S
        self._last_s = clock.monotonic()
        self._last_records = 0
        self._last_bytes = 0
        self._width = 0

    def update(self, records: int, byte_count: int, in_flight: int = 0) -> None:
        """Shows the rates since the last line, when it is time for the next."""
        now_s = self._clock.monotonic()
        elapsed_s = now_s - self._last_s
        if elapsed_s < self._interval_s:
            return
        record_rate = (records - self._last_records) / elapsed_s
        byte_rate = (byte_count - self._last_bytes) / elapsed_s
        line = f"{format_count(records, 'record')}  {format_rates(record_rate, byte_rate)}"
        if self._in_flight_label:
            line += f"  {in_flight:,} {self._in_flight_label}"
        self._show(line)
        self._last_s, self._last_records, self._last_bytes = now_s, records, byte_count

    def close(self) -> None:
        """Takes the line off the terminal, so that the summary stands alone."""
        if self._on_terminal and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()

    def _show(self, line: str) -> None:
        if self._on_terminal:
            self._stream.write("\r" + line.ljust(self._width))
            self._width = len(line)
        else:
            self._stream.write(line + "\n")
        self._stream.flush()


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What a finished load test did."""

    records: int
    byte_count: int
    elapsed_s: float
    latencies: LatencyHistogram
    failed: int = 0

    @property
    def records_per_s(self) -> float:
        return self.records / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def bytes_per_s(self) -> float:
        return self.byte_count / self.elapsed_s if self.elapsed_s > 0 else 0.0

    def as_json(self) -> dict[str, Any]:
        latencies = self.latencies
        return {
            "records": self.records,
            "bytes": self.byte_count,
            "failed": self.failed,
            "elapsed_s": round(self.elapsed_s, 3),
            "records_per_s": round(self.records_per_s, 1),
            "mb_per_s": round(self.bytes_per_s / MEGABYTE, 3),
            "latency_ms": {
                "mean": round(latencies.mean_ms, 3),
                "p50": round(latencies.percentile(0.5), 3),
                "p95": round(latencies.percentile(0.95), 3),
                "p99": round(latencies.percentile(0.99), 3),
                "max": round(latencies.max_ms, 3),
            },
        }

    def as_text(self) -> str:
        latencies = self.latencies
        quantiles = "  ".join(
            f"{name} {latencies.percentile(share):,.1f} ms"
            for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
        )
        return format_fields(
            [
                ("records", f"{self.records:,}" + (f" ({self.failed:,} failed)" if self.failed else "")),
                ("data", f"{self.byte_count / MEGABYTE:,.1f} MB in {self.elapsed_s:,.2f} s"),
                ("throughput", format_rates(self.records_per_s, self.bytes_per_s)),
                ("latency", f"{quantiles}  max {latencies.max_ms:,.1f} ms"),
            ]
        )


def format_rates(records_per_s: float, bytes_per_s: float) -> str:
    return f"{records_per_s:,.0f} records/s  {bytes_per_s / MEGABYTE:,.1f} MB/s"

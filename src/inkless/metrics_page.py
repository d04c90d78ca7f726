"""docs/metrics.md, written from what a running broker publishes: `python -m inkless.metrics_page > FILE`.

A broker that keeps everything in memory is started for it: only then is the page sure to list what is there
to be scraped.
"""

import asyncio
import sys
import tempfile

from inkless.compose import start_broker
from inkless.observability.registry import MetricDescription
from inkless.settings import load_settings

_HEAD = """\
# Metrics

This page is generated from `src/inkless/broker_metrics.py` by `make docs`.

With `inkless.metrics.listen=host:port` a broker answers `GET /metrics` in Prometheus' text format and
`GET /healthz` with 200. Without it neither is served. Counters count from the start of the process. A
histogram has `_bucket`, `_sum` and `_count` behind its name.

| Name | Kind | Labels | Meaning |
|---|---|---|---|
"""


async def metrics_page() -> str:
    """The whole page."""
    with tempfile.TemporaryDirectory(prefix="inkless-") as folder:
        loaded = load_settings(
            None,
            {
                "inkless.data.dir": folder,
                "inkless.storage.url": "memory://",
                "listeners": "PLAINTEXT://127.0.0.1:0",
            },
        )
        broker = await start_broker(loaded.settings)
        try:
            return _HEAD + "".join(map(_row, broker.metrics.describe()))
        finally:
            await broker.stop()


def _row(metric: MetricDescription) -> str:
    name = f"{metric.name}_total" if metric.kind == "counter" else metric.name
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{name}` | {metric.kind} | {labels} | {metric.doc} |\n"


def main() -> None:
    sys.stdout.write(asyncio.run(metrics_page()))


if __name__ == "__main__":
    main()

"""Which metrics exist, and where their numbers are read when somebody asks.

Names are written as the rest of the system writes them (`inkless.produce.objects`, `client-az-hit-rate`);
Prometheus takes neither dots nor dashes, so they become underscores.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from inkless.observability.histogram import Histogram

log = logging.getLogger(__name__)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")

Number = int | float
LabelledNumbers = Mapping[tuple[str, ...], Number]
"""Numbers by the values of a metric's labels, in the order in which the labels were declared."""


class MetricDescription(NamedTuple):
    """A metric as the documentation lists it."""

    name: str
    kind: str
    doc: str
    labels: tuple[str, ...]


class _Source(NamedTuple):
    description: MetricDescription
    collect: Callable[[], Metric]


class MetricsRegistry:
    """Every metric of one broker. Two brokers in one process have one each."""

    def __init__(self) -> None:
        self._sources: dict[str, _Source] = {}
        self._prometheus = CollectorRegistry(auto_describe=False)
        self._prometheus.register(_AtScrape(self._collect))

    def counter(self, name: str, doc: str, read: Callable[[], Number]) -> None:
        """A total that only grows; shown with `_total` behind its name."""
        self.labelled_counter(name, doc, (), lambda: {(): read()})

    def gauge(self, name: str, doc: str, read: Callable[[], Number]) -> None:
        """A number that is true now."""
        self.labelled_gauge(name, doc, (), lambda: {(): read()})

    def labelled_counter(
        self, name: str, doc: str, labels: tuple[str, ...], read: Callable[[], LabelledNumbers]
    ) -> None:
        """One total for each combination of label values; `read` must keep their number bounded."""
        shown = metric_name(name)

        def collect() -> Metric:
            family = CounterMetricFamily(shown, doc, labels=labels)
            for values, number in read().items():
                family.add_metric(values, number)
            return family

        self._add(MetricDescription(shown, "counter", doc, labels), collect)

    def labelled_gauge(
        self, name: str, doc: str, labels: tuple[str, ...], read: Callable[[], LabelledNumbers]
    ) -> None:
        """One number for each combination of label values; `read` must keep their number bounded."""
        shown = metric_name(name)

        def collect() -> Metric:
            family = GaugeMetricFamily(shown, doc, labels=labels)
            for values, number in read().items():
                family.add_metric(values, number)
            return family

        self._add(MetricDescription(shown, "gauge", doc, labels), collect)

    def histogram(self, name: str, doc: str, histogram: Histogram) -> None:
        """The distribution that `histogram` has collected."""
        self.labelled_histogram(name, doc, (), lambda: {(): histogram})

    def labelled_histogram(
        self,
        name: str,
        doc: str,
        labels: tuple[str, ...],
        read: Callable[[], Mapping[tuple[str, ...], Histogram]],
    ) -> None:
        """One distribution for each combination of label values; `read` must keep their number bounded."""
        shown = metric_name(name)

        def collect() -> Metric:
            family = HistogramMetricFamily(shown, doc, labels=labels)
            for values, histogram in read().items():
                at_most, observed, total = histogram.snapshot()
                buckets = [(f"{bound:g}", number) for bound, number in at_most]
                family.add_metric(values, [*buckets, ("+Inf", observed)], total)
            return family

        self._add(MetricDescription(shown, "histogram", doc, labels), collect)

    def describe(self) -> list[MetricDescription]:
        """All metrics by name, for the documentation."""
        return [self._sources[name].description for name in sorted(self._sources)]

    def render(self) -> bytes:
        """All metrics as they are now, in Prometheus' text format."""
        return generate_latest(self._prometheus)

    def _add(self, description: MetricDescription, collect: Callable[[], Metric]) -> None:
        if description.name in self._sources:
            raise ValueError(f"the metric {description.name} exists already")
        self._sources[description.name] = _Source(description, collect)

    def _collect(self) -> Iterator[Metric]:
        for description, collect in self._sources.values():
            try:
                metric = collect()
            except Exception:
                log.warning("metric could not be read", extra={"metric": description.name}, exc_info=True)
                continue
            yield metric


class _AtScrape(Collector):
    """What prometheus_client wants to be given in place of a function."""

    def __init__(self, collect: Callable[[], Iterable[Metric]]) -> None:
        self._collect = collect

    def collect(self) -> Iterable[Metric]:
        return self._collect()


def metric_name(name: str) -> str:
    """The name as Prometheus takes it; ValueError where it would take none."""
    shown = name.replace(".", "_").replace("-", "_").removesuffix("_total")
    if not _NAME.fullmatch(shown):
        raise ValueError(f"{name!r} cannot be the name of a metric")
    return shown

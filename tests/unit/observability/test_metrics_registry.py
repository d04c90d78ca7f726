import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkless.observability import LATENCY_BOUNDS_S, Histogram, MetricsRegistry
from inkless.observability.registry import MetricDescription, metric_name


def _lines(registry: MetricsRegistry) -> list[str]:
    return registry.render().decode().splitlines()


def test_numbers_are_read_when_somebody_looks() -> None:
    registry = MetricsRegistry()
    objects = 0
    registry.counter("inkless.produce.objects", "WAL objects written.", lambda: objects)
    objects = 3
    assert "inkless_produce_objects_total 3.0" in _lines(registry)
    objects = 4
    assert "inkless_produce_objects_total 4.0" in _lines(registry)
    assert "# HELP inkless_produce_objects_total WAL objects written." in _lines(registry)


def test_labelled_numbers_have_one_line_each() -> None:
    registry = MetricsRegistry()
    registry.labelled_counter(
        "requests", "Requests.", ("api", "version"), lambda: {("Fetch", "17"): 2, ("Produce", "9"): 5}
    )
    registry.labelled_gauge("leases", "Leases.", ("zone",), lambda: {('a"b',): 1})
    lines = _lines(registry)
    assert 'requests_total{api="Fetch",version="17"} 2.0' in lines
    assert 'requests_total{api="Produce",version="9"} 5.0' in lines
    assert 'leases{zone="a\\"b"} 1.0' in lines


def test_histogram_is_cumulative_with_bounds_included() -> None:
    registry = MetricsRegistry()
    histogram = Histogram((1.0, 2.0))
    registry.histogram("commit-latency-seconds", "Commits.", histogram)
    for value in (0.5, 1.0, 1.5, 9.0):
        histogram.observe(value)
    lines = _lines(registry)
    assert 'commit_latency_seconds_bucket{le="1"} 2.0' in lines
    assert 'commit_latency_seconds_bucket{le="2"} 3.0' in lines
    assert 'commit_latency_seconds_bucket{le="+Inf"} 4.0' in lines
    assert "commit_latency_seconds_count 4.0" in lines
    assert "commit_latency_seconds_sum 12.0" in lines


@given(st.lists(st.floats(min_value=0, max_value=100)))
def test_histogram_agrees_with_counting_by_hand(values: list[float]) -> None:
    histogram = Histogram()
    for value in values:
        histogram.observe(value)
    at_most, observed, total = histogram.snapshot()
    assert at_most == [(bound, sum(value <= bound for value in values)) for bound in LATENCY_BOUNDS_S]
    assert observed == len(values)
    assert total == pytest.approx(sum(values))


@pytest.mark.parametrize("bounds", [(), (1.0, 1.0), (2.0, 1.0)])
def test_histogram_refuses_bounds_that_do_not_rise(bounds: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="must rise"):
        Histogram(bounds)


def test_broken_source_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    registry = MetricsRegistry()
    registry.gauge("broken", "Broken.", lambda: 1 // 0)
    registry.gauge("whole", "Whole.", lambda: 1)
    with caplog.at_level(logging.WARNING):
        lines = _lines(registry)
    assert "whole 1.0" in lines
    assert not any(line.startswith("broken") for line in lines)
    assert "metric could not be read" in caplog.text


def test_name_is_given_once() -> None:
    registry = MetricsRegistry()
    registry.gauge("a.b", "One.", lambda: 1)
    with pytest.raises(ValueError, match="a_b exists already"):
        registry.gauge("a-b", "Two.", lambda: 2)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("client-az-hit-rate", "client_az_hit_rate"),
        ("kafka.controller.diskless.rf1_topics_total", "kafka_controller_diskless_rf1_topics"),
    ],
)
def test_dots_and_dashes_become_underscores(written: str, shown: str) -> None:
    assert metric_name(written) == shown


@pytest.mark.parametrize("name", ["", "1st", "a b", "é"])
def test_name_that_prometheus_refuses_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name"):
        metric_name(name)


def test_metrics_describe_themselves_by_name() -> None:
    registry = MetricsRegistry()
    registry.histogram("b", "B.", Histogram())
    registry.labelled_counter("a", "A.", ("api",), dict)
    assert registry.describe() == [
        MetricDescription("a", "counter", "A.", ("api",)),
        MetricDescription("b", "histogram", "B.", ()),
    ]

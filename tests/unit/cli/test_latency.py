import math

from hypothesis import given
from hypothesis import strategies as st

from inkless.cli.latency import LatencyHistogram


@given(
    st.lists(st.floats(min_value=0.02, max_value=1e6), min_size=1, max_size=200),
    st.sampled_from([0.5, 0.95, 0.99, 1.0]),
)
def test_percentiles_are_within_one_bucket_of_the_sorted_list(
    latencies_ms: list[float], share: float
) -> None:
    histogram = LatencyHistogram()
    for latency_ms in latencies_ms:
        histogram.observe(latency_ms)
    exact = sorted(latencies_ms)[math.ceil(share * len(latencies_ms)) - 1]
    assert exact * 0.999 <= histogram.percentile(share) <= exact * 1.023


def test_the_maximum_is_exact() -> None:
    histogram = LatencyHistogram()
    histogram.observe(3.3)
    histogram.observe(17.77)
    assert histogram.max_ms == 17.77
    assert histogram.percentile(1.0) == 17.77


def test_many_observations_at_once_weigh_as_many() -> None:
    histogram = LatencyHistogram()
    histogram.observe(1.0, count=99)
    histogram.observe(100.0)
    assert histogram.count == 100
    assert histogram.percentile(0.99) < 1.1
    assert math.isclose(histogram.mean_ms, 1.99)


def test_out_of_range_latencies_are_counted_in_the_outermost_buckets() -> None:
    histogram = LatencyHistogram()
    histogram.observe(0.0)
    histogram.observe(1e12)
    assert histogram.count == 2
    assert histogram.percentile(0.5) <= 0.011


def test_nothing_observed_is_zero() -> None:
    assert LatencyHistogram().percentile(0.99) == 0.0

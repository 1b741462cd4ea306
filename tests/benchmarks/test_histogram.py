"""The latencies that benchmarks print, against sorted lists."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.histogram import Latencies


@given(st.lists(st.floats(0.02, 1e6), min_size=1), st.sampled_from((50.0, 95.0, 99.0, 99.9)))
def test_percentiles_are_exact_to_one_percent(took: list[float], percent: float) -> None:
    latencies = Latencies(0.0)
    for ms in took:
        latencies.add(0.0, ms / 1000)
    exact = sorted(took)[math.ceil(len(took) * percent / 100) - 1]
    assert latencies.percentile(percent) == pytest.approx(exact, rel=0.011)
    assert latencies.max_ms == pytest.approx(max(took))


def test_a_standstill_is_as_many_bad_seconds_as_it_lasts() -> None:
    latencies = Latencies(100.0)
    for sent in (99.9, 100.5, 101.5, 102.5, 104.5):
        latencies.add(sent, max(sent + 0.01, 103.0))
    assert latencies.count == 4
    assert latencies.stalled_seconds == 3
    assert latencies.seconds == [
        pytest.approx(2500),
        pytest.approx(1500),
        pytest.approx(500),
        None,
        pytest.approx(10),
    ]


def test_late_records_count_by_when_they_were_sent() -> None:
    latencies = Latencies(100.0)
    for sent, took in ((100.0, 0.01), (101.0, 0.06), (101.2, 0.2), (103.0, 0.2)):
        latencies.add(sent, sent + took)
    assert latencies.late_percent([(100.0, 110.0)]) == 75
    assert latencies.late_percent([(100.9, 101.5), (101.0, 101.1)]) == 50
    assert latencies.late_percent([]) == 0

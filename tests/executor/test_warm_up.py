"""The JVM is warmed up by a query that writes nowhere and ends on demand."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from streamsql.executor.frames.context import LoweringContext
from streamsql.executor.queries.warm_up import Sample, warm_up
from streamsql.runtime.warm_up import KEY, QUERY_ID, VALUE, planned

pytestmark = pytest.mark.spark


def _samples() -> list[Sample]:
    return [Sample(query, KEY, VALUE) for query in planned()]


def _context(spark: SparkSession, folder: Path) -> LoweringContext:
    # No broker listens there: writing to Kafka fails.
    return LoweringContext(spark, "127.0.0.1:1", folder, "log")


def test_it_goes_through_both_modes_and_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    for sample in _samples():
        assert warm_up(sample, _context(spark, tmp_path), lambda: True) >= 12
    assert not spark.streams.active
    assert not list(tmp_path.iterdir())
    counted = cast(Any, spark)._jvm.io.streamsql.monitoring.QueryMetrics.all()
    query = json.loads(counted)[QUERY_ID]
    assert query["records_in"] > 100
    assert query["errors"] == 0


def test_it_ends_at_once_when_it_is_not_wanted(spark: SparkSession, tmp_path: Path) -> None:
    begin = time.monotonic()
    sample = _samples()[0]
    assert warm_up(sample, _context(spark, tmp_path), lambda: False) == 0
    looks = iter(range(5))
    batches = warm_up(sample, _context(spark, tmp_path), lambda: next(looks, None) is not None)
    assert batches < 12
    assert time.monotonic() - begin < 60
    assert not spark.streams.active

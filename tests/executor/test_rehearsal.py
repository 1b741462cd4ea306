"""A query's batch is planned again while it runs, and the query does not notice."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from awaiting import await_until
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

pytestmark = pytest.mark.spark


def test_a_running_query_is_rehearsed(spark: SparkSession, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def note(rows: DataFrame, batch: int) -> None:
        seen.extend((row.k, row.n) for row in rows.collect())

    query = (
        spark.readStream.format("rate")
        .option("rowsPerSecond", "20")
        .load()
        .groupBy((F.col("value") % 2).alias("k"))
        .agg(F.count("*").alias("n"))
        .writeStream.foreachBatch(note)
        .outputMode("update")
        .option("checkpointLocation", str(tmp_path))
        .trigger(processingTime="1 second")
        .start()
    )
    try:
        await_until(lambda: len(seen) > 2, "the first rows", 60)
        rehearsal = cast(Any, spark)._jvm.io.streamsql.queries.Rehearsal
        assert rehearsal.begin(cast(Any, query)._jsq).get() > 2
        known = len(seen)
        await_until(lambda: len(seen) > known + 2, "rows after the rehearsal", 60)
        of_one = [n for k, n in seen if k == 0]
        assert of_one == sorted(of_one)
        assert len(set(of_one)) == len(of_one), "a state was counted on from twice"
        assert query.exception() is None
    finally:
        query.stop()


def test_a_query_that_has_ended_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    query = (
        spark.readStream.format("rate")
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    query.stop()
    rehearsal = cast(Any, spark)._jvm.io.streamsql.queries.Rehearsal
    assert rehearsal.begin(cast(Any, query)._jsq).get() == 0

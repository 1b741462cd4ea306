"""What has passed leaves the state of sessions, of OVER and of matches: with new keys it does not
grow."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from streamsql.executor.spark.jvm import Jvm

pytestmark = pytest.mark.spark

BATCHES = 8
KEYS_A_BATCH = 20
STEP = 1_000
GAP, GRACE = 100, 400
SCHEMA = "k string, time bigint, partition int, offset bigint"


def batches(folder: Path) -> None:
    """Every batch has keys of its own, STEP ms after the last one's."""
    folder.mkdir()
    for i in range(BATCHES):
        rows = [
            {"k": f"{i}-{n}", "time": i * STEP + n, "partition": 0, "offset": 100 * i + n}
            for n in range(KEYS_A_BATCH)
        ]
        path = folder / f"{i}.json"
        path.write_text("\n".join(map(json.dumps, rows)))
        os.utime(path, (i, i))  # files are taken by age


def sessions(rows: DataFrame, updates: bool) -> DataFrame:
    jvm = Jvm(rows.sparkSession)
    key = rows.select("k").schema
    timed = rows.withColumn("stream_time", jvm.stream_time(F.col("time")))
    packed = timed.select("stream_time")
    totals = packed.groupBy().agg(F.count(F.lit(1)).alias("n"))
    keyed = timed.select(
        jvm.pack(F.struct("k"), key).alias("key"),
        F.lit(0).alias("side"),
        *("time", "partition", "offset"),
        F.lit(None).cast("binary").alias("headers"),
        jvm.pack(F.struct("stream_time"), packed.schema).alias("row"),
    )
    buffers = jvm.aggregate_buffers(totals)
    made = jvm.keyed(keyed, "aggregates.SessionWindows", buffers, 1, GAP, GRACE, updates)
    return made.select(
        jvm.unpack(F.col("key"), key)["k"].alias("k"),
        jvm.unpack(F.col("row"), totals.schema)["n"].alias("n"),
    )


def over(rows: DataFrame, grace: int) -> DataFrame:
    """How many rows of the last GAP ms each row has beside it."""
    jvm = Jvm(rows.sparkSession)
    key, values = rows.select("k").schema, rows.select("time").schema
    totals = rows.select("time").groupBy().agg(F.count(F.lit(1)).alias("n"))
    taken, row = jvm.pack(F.struct("time"), values), jvm.pack(F.struct("k"), key)
    pair = F.struct(taken.alias("values"), row.alias("row"))
    binary = StructType([StructField(name, BinaryType()) for name in ("values", "row")])
    keyed = rows.select(
        row.alias("key"),
        F.lit(0).alias("side"),
        *("time", "partition", "offset"),
        F.lit(None).cast("binary").alias("headers"),
        jvm.pack(pair, binary).alias("row"),
    )
    buffers = [jvm.aggregate_buffers(totals)]
    made = jvm.keyed(keyed, "aggregates.OverWindows", buffers, f"-1,{GAP},true", "", 1, grace)
    part = jvm.unpack(F.col("made"), StructType([StructField("f0", BinaryType())]))["f0"]
    return made.select(
        jvm.unpack(F.col("row"), key)["k"].alias("k"),
        jvm.unpack(part, totals.schema)["n"].alias("n"),
    )


def matches(rows: DataFrame, grace: int) -> DataFrame:
    """Each row with all that follow it within GAP."""
    jvm = Jvm(rows.sparkSession)
    key, values = rows.select("k").schema, rows.select("time").schema
    none = jvm.totals([], "")
    structs = rows.sparkSession.createDataFrame([], StructType([StructField("row", values)]))
    met = structs.select(F.lit(True).alias("met"))
    conditions = jvm.match_conditions(met, "", none, "-1,-1", "", 1)
    results = jvm.match_results("-1,true,0,0", none, 1)
    keyed = rows.select(
        jvm.pack(F.struct("k"), key).alias("key"),
        F.lit(0).alias("side"),
        *("time", "partition", "offset"),
        F.lit(None).cast("binary").alias("headers"),
        jvm.pack(F.struct("time"), values).alias("row"),
    )
    made = jvm.keyed(
        keyed,
        "patterns.PatternMatches",
        "0;f2,4;1;f1,1;e",
        conditions,
        results,
        "PAST_LAST_ROW",
        GAP,
        grace,
    )
    return made.select(F.lit(1).alias("n"))


@pytest.mark.parametrize("updates", [True, False])
@pytest.mark.parametrize("operator", ["sessions", "over", "matches"])
def test_state_does_not_grow(
    spark: SparkSession, tmp_path: Path, updates: bool, operator: str
) -> None:
    batches(tmp_path / "in")
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    name = f"{operator}{updates}"
    rows = reader.json(str(tmp_path / "in"))
    query = (
        (
            sessions(rows, updates)
            if operator == "sessions"
            else (over if operator == "over" else matches)(rows, -1 if updates else GRACE)
        )
        .writeStream.format("memory")
        .queryName(name)
        .outputMode("update")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(180)
    kept = [p.stateOperators[0].numRowsTotal for p in query.recentProgress if p.stateOperators]
    rows_of_a_batch = kept[0]
    assert rows_of_a_batch >= KEYS_A_BATCH
    # A row of OVER that waits is there for two batches, and what it leaves behind for two more; a
    # match waits for its end, too.
    waits = operator == "matches" or (operator == "over" and not updates)
    assert max(kept) <= (4 if waits else 2) * rows_of_a_batch, kept
    results = spark.table(name).collect()
    # What is left of the last batch waits for its end: nothing comes after it.
    waiting = (operator == "matches") + (not updates)
    assert len(results) == KEYS_A_BATCH * (BATCHES - waiting)
    assert {row.n for row in results} == {1}

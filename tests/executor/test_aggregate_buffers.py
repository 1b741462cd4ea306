"""Aggregates a row at a time, with merges, restores and rows taken back: the same results as Spark
has for the rows that are left, for every aggregate function there is."""

from __future__ import annotations

import base64
import json
import math
import os
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from streamsql import types
from streamsql.executor.expressions.expression import ColumnContext, aggregate
from streamsql.executor.spark.jvm import Jvm
from streamsql.functions import REGISTRY, AggregateFunction
from streamsql.parser import parse_expression
from streamsql.planner.types.inference import infer
from streamsql.types import SQLType

pytestmark = pytest.mark.spark

COLUMNS: dict[str, tuple[SQLType, str]] = {
    "I": (types.INT, "int"),
    "L": (types.BIGINT, "bigint"),
    "D": (types.DOUBLE, "double"),
    "E": (types.DOUBLE, "double"),
    "P": (types.decimal(6, 2), "decimal(6,2)"),
    "S": (types.STRING, "string"),
    "B": (types.BYTES, "binary"),
    "A": (types.array(types.INT), "array<int>"),
}
CALLS = [
    *("COUNT(S)", "SUM(I)", "SUM(L)", "SUM(D)", "SUM(P)", "AVG(I)", "AVG(D)", "SUM_LIST(A)"),
    *("STDDEV_SAMP(D)", "STDDEV_SAMPLE(D)", "CORRELATION(D, E)"),
    *("COLLECT_LIST(I)", "COLLECT_LIST(A)", "HISTOGRAM(S)", "ATTR(S)", "ATTR(A)"),
    *("MIN(I)", "MIN(S)", "MAX(P)", "MAX(B)", "COUNT_DISTINCT(L)", "COUNT_DISTINCT(S)"),
    *("COLLECT_SET(S)", "TOPK(I, 3)", "TOPK(S, L, 2)", "TOPKDISTINCT(P, 2)"),
    *("LATEST_BY_OFFSET(S)", "LATEST_BY_OFFSET(S, FALSE)", "LATEST_BY_OFFSET(I, 2)"),
    *("EARLIEST_BY_OFFSET(A)", "EARLIEST_BY_OFFSET(S, 2, FALSE)", "ANY_VALUE(S)"),
    *("COUNT_IF(I > 0)", "BOOL_AND(I > 0)", "BOOL_OR(I > 0)", "EVERY(I > 0)"),
    *("ARRAY_AGG(I)", "STRING_AGG(S, '-')", "ARG_MAX(S, I)", "ARG_MIN(A, L)"),
    *("COUNT_DISTINCT_EXACT(S)", "SUM_DISTINCT(I)", "AVG_DISTINCT(I)"),
    *("STRING_AGG_DISTINCT(S, '-')", "STDDEV(D)", "STDDEV_POP(D)", "VARIANCE(D)", "VAR_POP(D)"),
    *("VAR_SAMP(D)", "MEDIAN(D)", "PERCENTILE(D, 0.25)", "APPROX_PERCENTILE(D, 0.5)"),
]
SCHEMA = ", ".join(f"{name} {spark}" for name, (_, spark) in COLUMNS.items())
SYSTEM = "k string, time bigint, partition int, offset bigint"
GAP = 5
KEYS = 4
PAIR = StructType([StructField("a", BinaryType()), StructField("b", BinaryType())])


def functions(calls: list[str]) -> set[str]:
    return {call.partition("(")[0] for call in calls}


def test_every_function_is_here() -> None:
    assert functions(CALLS) == {f.name for f in REGISTRY if isinstance(f, AggregateFunction)}


def undoable() -> list[str]:
    named = {f.name for f in REGISTRY if isinstance(f, AggregateFunction) and f.undo}
    return [call for call in CALLS if call.partition("(")[0] in named]


def values(rng: random.Random) -> tuple[Any, ...]:
    number = rng.randint(-8, 8)
    row = (
        *(number, number * 10**12, number / 4, rng.randint(-8, 8) / 4, number / 4),
        *(
            rng.choice("abc"),
            base64.b64encode(rng.choice([b"a", b"b"])).decode(),
            [number, None, 1],
        ),
    )
    return tuple(None if rng.random() < 0.15 else value for value in row)


def results(jvm: Jvm, calls: list[str], sign: Column | None = None) -> list[Column]:
    context = ColumnContext(columns={name: F.col(name) for name in COLUMNS}, jvm=jvm)
    kinds = {name: kind for name, (kind, _) in COLUMNS.items()}
    typed = [infer(parse_expression(call), kinds) for call in calls]
    order = F.struct(F.col("offset"), F.col("partition"))
    return [aggregate(call, context, order, sign).alias(f"c{i}") for i, call in enumerate(typed)]


def written(rows: list[Any], schema: str, path: Path) -> str:
    """A file of JSON lines, which Spark reads without Python workers."""
    names = [column.split()[0] for column in schema.split(", ")]
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{json.dumps(dict(zip(names, r, strict=True)))}\n" for r in rows))
    return str(path)


def streamed(spark: SparkSession, batches: list[list[Any]], schema: str, folder: Path) -> DataFrame:
    """A stream whose micro-batches are the lists of rows."""
    for i, rows in enumerate(batches):
        written(rows, schema, folder / f"{i:03d}.json")
        os.utime(folder / f"{i:03d}.json", (i, i))  # files are taken by age
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.json(str(folder))


def run(frame: DataFrame, name: str, checkpoint: Path) -> list[Any]:
    """All that the query has written, in order."""
    query = (
        frame.writeStream.format("memory")
        .queryName(name)
        .outputMode("update")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(180)
    return frame.sparkSession.table(name).orderBy("offset").collect()


def comparable(call: str, value: Any) -> Any:
    """Doubles of a given precision, and what has no order sorted."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else round(value, 9) + 0.0
    if call.startswith("TOPK(S, "):
        return [row[0] for row in value]  # equal ones come in any order
    if call.startswith(("COLLECT_", "ARRAY_AGG")):
        return sorted(map(str, value))
    if call.startswith("STRING_AGG"):
        return sorted((value or "").split("-"))
    return value


def keyed(rows: DataFrame, key: Column, row: Column) -> DataFrame:
    return rows.select(
        key.alias("key"),
        F.lit(0).alias("side"),
        "time",
        "partition",
        "offset",
        F.lit(None).cast("binary").alias("headers"),
        row.alias("row"),
    )


def sessions(rows: list[Any]) -> dict[int, int]:
    """The start of each row's session, by offset."""
    found: dict[int, int] = {}
    for key in {row[0] for row in rows}:
        times = sorted({row[1] for row in rows if row[0] == key})
        starts = {times[0]: times[0]}
        for before, time in pairwise(times):
            starts[time] = starts[before] if time - before <= GAP else time
        found.update({row[3]: starts[row[1]] for row in rows if row[0] == key})
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_sessions_merge_buffers(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    rng, jvm = random.Random(seed), Jvm(spark)
    rows = [
        (f"k{rng.randrange(KEYS)}", rng.randrange(120), 0, offset, *values(rng))
        for offset in range(120)
    ]
    stream = streamed(spark, [rows[i::5] for i in range(5)], f"{SYSTEM}, {SCHEMA}", tmp_path / "in")
    columns = ["stream_time", *COLUMNS, "offset", "partition"]
    timed = stream.withColumn("stream_time", F.lit(0).cast("bigint"))
    packed = timed.select(*columns)
    totals = packed.groupBy().agg(*results(jvm, CALLS))
    key = jvm.pack(F.struct("k"), stream.select("k").schema)
    frame = keyed(timed, key, jvm.pack(F.struct(*columns), packed.schema))
    operated = jvm.keyed(
        frame,
        "aggregates.SessionWindows",
        jvm.aggregate_buffers(totals),
        len(columns),
        GAP,
        10**6,
        True,
    )
    made = operated.select(
        jvm.unpack(F.col("key"), stream.select("k").schema)["k"].alias("k"),
        *("start", "end", "offset"),
        jvm.unpack(F.col("row"), totals.schema).alias("row"),
    )
    last = {(r.k, r.start, r.end): r.row for r in run(made, f"sessions{seed}", tmp_path / "c")}
    found = {(k, start): row for (k, start, _), row in last.items() if row is not None}

    starts = sessions(rows)
    schema = f"start bigint, {SYSTEM}, {SCHEMA}"
    whole = written([(starts[row[3]], *row) for row in rows], schema, tmp_path / "all" / "rows")
    native = spark.read.schema(schema).json(whole)
    expected = native.groupBy("k", "start").agg(*results(jvm, CALLS)).collect()
    assert len(found) == len(expected)
    for row in expected:
        for i, call in enumerate(CALLS):
            got = comparable(call, found[row.k, row.start][i])
            assert got == comparable(call, row[f"c{i}"]), (call, row.k, row.start)


@pytest.mark.parametrize("seed", [1, 2])
def test_tables_take_rows_back(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    rng, jvm, calls = random.Random(seed), Jvm(spark), undoable()
    members, changes = [f"m{i}" for i in range(12)], []
    for offset in range(150):
        gone = rng.random() < 0.2
        group = None if gone else f"k{rng.randrange(KEYS)}"
        changes.append((rng.choice(members), group, offset, 0, offset, *values(rng)))
    schema = f"member string, {SYSTEM}, {SCHEMA}"
    size = len(changes) // 5
    batches = [changes[i : i + size] for i in range(0, len(changes), size)]
    stream = streamed(spark, batches, schema, tmp_path / "in")
    columns = ["sign", *COLUMNS, "offset", "partition"]
    signed = stream.withColumn("sign", F.lit(1))
    packed = signed.select(*columns)
    totals = packed.groupBy().agg(*results(jvm, calls, F.col("sign")))
    member, group = stream.select("member").schema, stream.select("k").schema
    pair = F.struct(
        jvm.pack(F.struct("k"), group).alias("a"),
        jvm.pack(F.struct(*columns), packed.schema).alias("b"),
    )
    row = F.when(F.col("k").isNotNull(), jvm.pack(pair, PAIR))
    frame = keyed(signed, jvm.pack(F.struct("member"), member), row)
    moved = jvm.keyed(frame, "tables.TableChanges")
    both = jvm.pack(F.struct(F.col("before").alias("a"), F.col("after").alias("b")), PAIR)
    frame = keyed(moved, F.col("key"), both)
    buffers = jvm.aggregate_buffers(totals)
    operated = jvm.keyed(frame, "aggregates.TableGroups", buffers, len(columns)).select(
        jvm.unpack(F.col("key"), group)["k"].alias("k"),
        "offset",
        jvm.unpack(F.col("row"), totals.schema).alias("row"),
    )
    found = {r.k: r.row for r in run(operated, f"groups{seed}", tmp_path / "c")}

    latest = {change[0]: change for change in changes}
    left = [change for change in latest.values() if change[1] is not None]
    whole = written(left, schema, tmp_path / "all" / "rows")
    native = spark.read.schema(schema).json(whole).groupBy("k").agg(*results(jvm, calls))
    for expected in native.collect():
        for i, call in enumerate(calls):
            got = comparable(call, found[expected.k][i])
            assert got == comparable(call, expected[f"c{i}"]), (call, expected.k)

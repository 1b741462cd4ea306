"""Aggregate functions over a few rows, in the order in which they stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from functions.evaluation import interpreted, value_text
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from streamsql import types
from streamsql.executor.expressions.expression import ColumnContext, aggregate, column
from streamsql.executor.spark.jvm import Jvm
from streamsql.executor.spark.types import spark_type
from streamsql.functions import REGISTRY, AggregateFunction
from streamsql.nodes import Expression
from streamsql.parser import parse_expression
from streamsql.planner.types.inference import infer
from streamsql.types import SQLType, type_of

pytestmark = pytest.mark.spark

EXAMPLES = [example for f in REGISTRY if isinstance(f, AggregateFunction) for example in f.examples]

MORE = [
    ("COUNT(*) of 1, NULL", "BIGINT 2"),
    ("COUNT(x) of CAST(NULL AS INT)", "BIGINT 0"),
    ("COUNT(x) of 'a', NULL, ''", "BIGINT 2"),
    ("SUM(x) of CAST(NULL AS INT)", "INTEGER 0"),
    ("SUM(x) of 2147483647, 1", "INTEGER -2147483648"),
    ("SUM(x) of 2147483648, 1", "BIGINT 2147483649"),
    ("SUM(x) of 1.5e0, NULL, 2e0", "DOUBLE 3.5"),
    ("SUM(x) of CAST(NULL AS DOUBLE)", "DOUBLE 0.0"),
    ("SUM(x) of 1.25, 2.50", "DECIMAL(3, 2) 3.75"),
    ("SUM(x) of CAST(NULL AS DECIMAL(4, 2))", "DECIMAL(4, 2) 0.00"),
    ("SUM(x) of 9.9, 0.2", "DECIMAL(2, 1) NULL"),
    ("AVG(x) of CAST(NULL AS INT)", "DOUBLE 0.0"),
    ("AVG(x) of 1, 2", "DOUBLE 1.5"),
    ("AVG(x) of 2147483648, NULL", "DOUBLE 2.147483648E9"),
    ("SUM_LIST(x) of CAST(NULL AS ARRAY<BIGINT>)", "BIGINT 0"),
    ("SUM_LIST(x) of ARRAY[1.5e0], NULL, ARRAY[2e0, NULL]", "DOUBLE 3.5"),
    ("STDDEV_SAMP(x) of 1", "DOUBLE 0.0"),
    ("STDDEV_SAMPLE(x) of CAST(NULL AS DOUBLE)", "DOUBLE 0.0"),
    ("STDDEV_SAMPLE(x) of 1.5, 3.5", "DOUBLE 1.4142135623730951"),
    ("CORRELATION(x, -x) of 1e0, 2e0, NULL", "DOUBLE -1.0"),
    ("CORRELATION(x, x) of 1", "DOUBLE NaN"),
    ("MIN(x) of CAST(NULL AS INT)", "INTEGER NULL"),
    ("MIN(x) of 'b', 'a', NULL", "STRING 'a'"),
    ("MAX(x) of 1.25, 10.50", "DECIMAL(4, 2) 10.50"),
    ("MAX(x) of CAST('2024-01-01' AS DATE), CAST('2024-02-01' AS DATE)", "DATE 2024-02-01"),
    ("MAX(x) of CAST('10:00' AS TIME), CAST('09:00' AS TIME)", "TIME 10:00:00.000"),
    ("MAX(x) of CAST('YQ==' AS BYTES), CAST('Yg==' AS BYTES)", "BYTES x'62'"),
    (
        "MAX(x) of CAST('2024-01-01' AS TIMESTAMP), NULL",
        "TIMESTAMP 2024-01-01T00:00:00.000",
    ),
    ("COUNT_DISTINCT(x) of CAST(NULL AS INT)", "BIGINT 0"),
    ("COUNT_DISTINCT(x) of 'a', 'b', 'a'", "BIGINT 2"),
    ("COLLECT_LIST(x) of 'b', NULL, 'b'", "ARRAY<STRING> ['b', NULL, 'b']"),
    ("COLLECT_LIST(x) of ARRAY[1], ARRAY[2]", "ARRAY<ARRAY<INTEGER>> [[1], [2]]"),
    ("COLLECT_SET(x) of 'b', NULL, 'b', NULL", "ARRAY<STRING> ['b', NULL]"),
    (
        "COLLECT_SET(x) of MAP('a' := 1, 'b' := 2), MAP('b' := 2, 'a' := 1), NULL, MAP('a' := 2)",
        "ARRAY<MAP<STRING, INTEGER>> [{'a': 1, 'b': 2}, NULL, {'a': 2}]",
    ),
    ("COUNT_DISTINCT(x) of MAP('a' := 1, 'b' := 2), MAP('b' := 2, 'a' := 1)", "BIGINT 1"),
    (
        "ATTR(x) of MAP('a' := 1, 'b' := 2), MAP('b' := 2, 'a' := 1)",
        "MAP<STRING, INTEGER> {'a': 1, 'b': 2}",
    ),
    ("TOPK(x, 5) of 1, 3, NULL", "ARRAY<INTEGER> [3, 1]"),
    ("TOPK(x, 1) of CAST(NULL AS INT)", "ARRAY<INTEGER> []"),
    ("TOPK(x, 2) of 'a', 'c', 'b'", "ARRAY<STRING> ['c', 'b']"),
    (
        "TOPK(x, x || '!', 1) of 'a', 'b'",
        "ARRAY<STRUCT<`sort_col` STRING, `col0` STRING>> [{sort_col: 'b', col0: 'b!'}]",
    ),
    ("TOPKDISTINCT(x, 2) of 1.5, 1.5, 2.5", "ARRAY<DECIMAL(2, 1)> [2.5, 1.5]"),
    ("LATEST_BY_OFFSET(x) of 1, NULL", "INTEGER 1"),
    ("LATEST_BY_OFFSET(x, FALSE) of 1, NULL", "INTEGER NULL"),
    ("LATEST_BY_OFFSET(x, TRUE) of 1, NULL", "INTEGER 1"),
    ("LATEST_BY_OFFSET(x, 2) of 1, 2, NULL, 3", "ARRAY<INTEGER> [2, 3]"),
    ("LATEST_BY_OFFSET(x, 2, FALSE) of 1, 2, NULL, 3", "ARRAY<INTEGER> [NULL, 3]"),
    ("LATEST_BY_OFFSET(x) of ARRAY[1], ARRAY[2]", "ARRAY<INTEGER> [2]"),
    ("EARLIEST_BY_OFFSET(x, FALSE) of NULL, 1", "INTEGER NULL"),
    ("EARLIEST_BY_OFFSET(x, 2) of NULL, 1, 2, 3", "ARRAY<INTEGER> [1, 2]"),
    ("EARLIEST_BY_OFFSET(x, 2, FALSE) of NULL, 1, 2", "ARRAY<INTEGER> [NULL, 1]"),
    ("COLLECT_LIST(x, x > 1) of 1, NULL, 3, 2", "ARRAY<INTEGER> [3, 2]"),
    ("COLLECT_LIST(x, x IS NULL) of 1, NULL, 3", "ARRAY<INTEGER> [NULL]"),
    ("COLLECT_SET(x, x > 1) of 1, 3, 2, 3", "ARRAY<INTEGER> [3, 2]"),
    ("ATTR(x, x > 1) of 1, 3, 3", "INTEGER 3"),
    ("ARRAY_AGG(x, x > 5) of 1, 3", "ARRAY<INTEGER> NULL"),
    ("ARRAY_AGG(x) of 'b', 'a'", "ARRAY<STRING> ['b', 'a']"),
    ("STRING_AGG(x, '') of CAST(NULL AS STRING)", "STRING NULL"),
    ("COUNT_DISTINCT_EXACT(x) of MAP('a' := 1, 'b' := 2), MAP('b' := 2, 'a' := 1)", "BIGINT 1"),
    ("COUNT_DISTINCT_EXACT(x) of CAST(NULL AS INT)", "BIGINT 0"),
    ("SUM_DISTINCT(x) of 1.25, 2.50, 1.25", "DECIMAL(3, 2) 3.75"),
    ("SUM_DISTINCT(x) of CAST(NULL AS BIGINT)", "BIGINT 0"),
    ("AVG_DISTINCT(x) of CAST(NULL AS INT)", "DOUBLE NULL"),
    ("COUNT_IF(x > 5) of 1, NULL", "BIGINT 0"),
    ("BOOL_AND(x) of TRUE, NULL", "BOOLEAN TRUE"),
    ("BOOL_OR(x) of FALSE, NULL", "BOOLEAN FALSE"),
    ("EVERY(x) of CAST(NULL AS BOOLEAN)", "BOOLEAN NULL"),
    ("ARG_MAX(x, x % 3) of 1, 2, 4, 5, NULL", "INTEGER 5"),
    ("ARG_MIN(x, x % 3) of 1, 2, 4, 5, NULL", "INTEGER 1"),
    ("ARG_MAX(x, 'a') of CAST(NULL AS INT)", "INTEGER NULL"),
    ("STDDEV(x) of 1", "DOUBLE NULL"),
    ("STDDEV_POP(x) of 1", "DOUBLE 0.0"),
    ("VARIANCE(x) of CAST(NULL AS DOUBLE)", "DOUBLE NULL"),
    ("VAR_POP(x) of CAST(NULL AS DOUBLE)", "DOUBLE NULL"),
    ("MEDIAN(x) of CAST(NULL AS DOUBLE)", "DOUBLE NULL"),
    ("MEDIAN(x) of 3", "DOUBLE 3.0"),
    ("PERCENTILE(x, 0) of 5, 1, 3", "DOUBLE 1.0"),
    ("PERCENTILE(x, 1) of 5, 1, 3", "DOUBLE 5.0"),
    ("PERCENTILE(x, 0.9) of 1.5, 2.5", "DOUBLE 2.4"),
    ("APPROX_PERCENTILE(x, 0.9, 100) of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10", "DOUBLE 9.0"),
    ("APPROX_PERCENTILE(x, 0.5) of CAST(NULL AS DOUBLE)", "DOUBLE NULL"),
]


@dataclass(frozen=True)
class Prepared:
    """An example taken apart: the call, typed over the column X, and an array of X's values."""

    example: str
    call: Expression
    values: Column
    kind: SQLType


def prepared(example: str) -> Prepared:
    call, _, values = example.partition(" of ")
    if values.startswith("CAST(NULL"):
        values += ", NULL"
    array = infer(parse_expression(f"ARRAY[{values}]"), {})
    kind = types.element_type(type_of(array))
    typed = infer(parse_expression(call), {"X": kind})
    return Prepared(example, typed, column(array, ColumnContext()), kind)


@pytest.fixture(scope="module")
def results(spark: SparkSession) -> dict[str, str]:
    """Examples whose values are of one type are the groups of one frame: jobs are what costs."""
    by_type: dict[str, list[Prepared]] = {}
    for example, _ in [*EXAMPLES, *MORE]:
        item = prepared(example)
        by_type.setdefault(types.to_sql(item.kind), []).append(item)
    found: dict[str, str] = {}
    with interpreted(spark):
        for items in by_type.values():
            found.update(_results(spark, items))
    return found


def _results(spark: SparkSession, items: list[Prepared]) -> Iterator[tuple[str, str]]:
    rows = spark.sql("SELECT 1 FROM VALUES (1)").select(
        F.explode(F.array(*(_group(i, item) for i, item in enumerate(items)))).alias("g")
    )
    rows = rows.select("g.i", F.posexplode("g.x").alias("o", "X")).coalesce(1)
    context = ColumnContext(columns={"X": F.col("X")}, jvm=Jvm(spark))
    order = F.struct(F.col("o"), F.lit(0))
    answers = rows.groupBy("i").agg(
        *(aggregate(item.call, context, order).alias(f"a{i}") for i, item in enumerate(items))
    )
    for row in answers.collect():
        item, field = items[row["i"]], answers.schema[f"a{row['i']}"]
        kind = type_of(item.call)
        assert field.dataType.simpleString() == spark_type(kind).simpleString(), item.example
        yield item.example, f"{types.to_sql(kind)} {value_text(row[field.name], kind)}"


def _group(index: int, item: Prepared) -> Column:
    return F.struct(F.lit(index).alias("i"), item.values.alias("x"))


@pytest.mark.parametrize(("example", "result"), EXAMPLES)
def test_example(example: str, result: str, results: dict[str, str]) -> None:
    assert results[example].endswith(f" {result}"), results[example]


@pytest.mark.parametrize(("example", "result"), MORE)
def test_aggregate(example: str, result: str, results: dict[str, str]) -> None:
    assert results[example] == result

"""The aggregates that keep a bounded number of values: which ones, and in what order."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from streamsql.executor.spark.jvm import BoundedKind, Jvm

pytestmark = pytest.mark.spark

ROWS = """
  (1, 'b',  CAST(1.5 AS DECIMAL(4,2)), X'01', array(1)),
  (2, null, CAST(null AS DECIMAL(4,2)), null, null),
  (3, 'a',  CAST(9.25 AS DECIMAL(4,2)), X'FF', array(1, null)),
  (4, 'c',  CAST(-1 AS DECIMAL(4,2)), X'02', array(1)),
  (5, 'b',  CAST(9.25 AS DECIMAL(4,2)), X'01', array(1))
"""
"""In order of their offset `o`: text `s`, decimal `d`, bytes `b`, array `l`."""

CASES: list[tuple[BoundedKind, str, int, bool, list[Any]]] = [
    ("COLLECT_LIST", "s", 10, True, ["b", None, "a", "c", "b"]),
    ("COLLECT_LIST", "s", 3, True, ["b", None, "a"]),
    ("COLLECT_LIST", "l", 3, True, [[1], None, [1, None]]),
    ("COLLECT_LIST", "named_struct('S', s)", 2, True, [Row(S="b"), Row(S=None)]),
    ("COLLECT_SET", "s", 10, True, ["b", None, "a", "c"]),
    ("COLLECT_SET", "s", 2, True, ["b", None]),
    ("COLLECT_SET", "l", 10, True, [[1], None, [1, None]]),
    (
        "COLLECT_SET",
        "b",
        10,
        True,
        [b"\x01", None, b"\xff", b"\x02"],
    ),
    ("TOPK", "o", 2, True, [5, 4]),
    ("TOPK", "s", 3, True, ["c", "b", "b"]),
    ("TOPK", "d", 9, True, [Decimal("9.25"), Decimal("9.25"), Decimal("1.50"), Decimal("-1.00")]),
    ("TOPK_DISTINCT", "d", 2, True, [Decimal("9.25"), Decimal("1.50")]),
    ("TOPK_DISTINCT", "s", 9, True, ["c", "b", "a"]),
    ("TOPK_DISTINCT", "b", 1, True, [b"\xff"]),
    (
        "TOPK_BY",
        "named_struct('sort_col', d - o, 'col0', s)",
        2,
        True,
        [Row(sort_col=Decimal("6.25"), col0="a"), Row(sort_col=Decimal("4.25"), col0="b")],
    ),
    ("EARLIEST", "struct(o, s)", 2, True, ["b", "a"]),
    ("EARLIEST", "struct(o, s)", 2, False, ["b", None]),
    ("LATEST", "struct(o, s)", 2, True, ["c", "b"]),
    ("LATEST", "struct(struct(-o, 0), s)", 4, False, ["c", "a", None, "b"]),
    ("LATEST", "struct(o, l)", 1, True, [[1]]),
    ("TOPK", "CAST(null AS INT)", 3, True, []),
]


def aggregate(spark: SparkSession, partitions: int) -> list[Any]:
    """All cases in one job; with more partitions than one, partial results are merged."""
    jvm = Jvm(spark)
    rows = spark.sql(f"SELECT * FROM VALUES {ROWS} AS t(o, s, d, b, l)")
    rows = rows.repartitionByRange(partitions, "o").sortWithinPartitions("o")
    columns = [
        jvm.bounded_aggregate(kind, F.expr(value), limit, ignore_nulls).alias(f"c{i}")
        for i, (kind, value, limit, ignore_nulls, _) in enumerate(CASES)
    ]
    return list(rows.groupBy(F.lit(1).alias("g")).agg(*columns).drop("g").collect()[0])


@pytest.fixture(scope="module")
def results(spark: SparkSession) -> list[Any]:
    return aggregate(spark, 1)


@pytest.mark.parametrize("case", range(len(CASES)), ids=[f"{c[0]}({c[1]},{c[2]})" for c in CASES])
def test_values_and_order(results: list[Any], case: int) -> None:
    assert results[case] == CASES[case][4]


def test_merged_partial_results_hold_the_same_values(spark: SparkSession) -> None:
    """What does not depend on the order of arrival is equal; that order itself is not defined."""
    for (kind, value, limit, _, expected), found in zip(CASES, aggregate(spark, 3), strict=True):
        if not kind.startswith("COLLECT"):
            assert found == expected, (kind, value)
        elif limit >= len(expected):
            assert sorted(map(repr, found)) == sorted(map(repr, expected)), (kind, value)


def test_of_no_rows_is_an_empty_array(spark: SparkSession) -> None:
    top = Jvm(spark).bounded_aggregate("TOPK", F.col("id"), 3)
    assert spark.range(0).agg(top.alias("x")).collect()[0]["x"] == []

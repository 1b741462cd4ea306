"""Distinct: rows with equal values in all columns meet in a state operator, which passes the first
one."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamsql.executor.frames.context import NULL_COLUMN, TIME_COLUMN, Scope, quoted
from streamsql.executor.frames.keyed import input_rows, normalized, operate, packed_key, unpacked
from streamsql.executor.operators.lowering import Inputs, Lowering
from streamsql.executor.spark.types import spark_type
from streamsql.nodes import Window
from streamsql.planner.operators import Distinct
from streamsql.schema import Kind

_STREAM_TIME = "$stream_time"


def lower(node: Distinct, inputs: Inputs, scope: Scope) -> DataFrame:
    """A row without a value cannot be compared, and is dropped."""
    (rows,) = inputs
    rows = rows.where(~quoted(NULL_COLUMN))
    key = _key(node)
    # Deduplication finds the row's stream time in the first column.
    time = quoted(TIME_COLUMN)
    timed = rows.select(scope.jvm.stream_time(time).alias(_STREAM_TIME), *map(quoted, rows.columns))
    packed = scope.jvm.pack(F.struct(*map(quoted, timed.columns)), timed.schema)
    keyed = input_rows(timed, packed_key(timed, key, scope), packed)
    size, grace = _times(node.window)
    arguments = (len(timed.columns), size, grace)
    columns = ((c.name, spark_type(c.type).simpleString()) for c in node.schema)
    window = [("window", "bigint")] if node.window else []
    scope.layouts.add("tables.Deduplication", "DISTINCT", (*columns, *window), ())
    distinct = operate([keyed], "tables.Deduplication", *arguments, scope=scope)
    row = distinct.select(unpacked("after", timed.schema, scope).alias("$row"))
    return row.select(*(quoted("$row").getField(name).alias(name) for name in rows.columns))


def _key(node: Distinct) -> Column:
    values = [
        normalized(quoted(column.name), spark_type(column.type)).alias(f"c{number}")
        for number, column in enumerate(node.schema)
    ]
    if node.window is None:
        return F.struct(*values)
    time, size = quoted(TIME_COLUMN), F.lit(node.window.size.ms)
    return F.struct(*values, (time - F.pmod(time, size)).alias("window"))


def _times(window: Window | None) -> tuple[int, int]:
    """Size and grace period in ms; no size without a window."""
    if window is None:
        return 0, 0
    assert window.grace is not None, "the planner fills in the default"
    return window.size.ms, window.grace.ms


def _batch(node: Distinct, inputs: Inputs, scope: Scope, history: bool) -> DataFrame:
    if history or node.kind is Kind.STREAM:
        return lower(node, inputs, scope)
    rows = inputs[0].where(~quoted(NULL_COLUMN))
    return rows.dropDuplicates(list(node.schema.names))


LOWERING = Lowering(lower, _batch)

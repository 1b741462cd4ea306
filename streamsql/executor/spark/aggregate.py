"""Aggregate: GROUP BY, in windows or not, by Spark's own grouping and state."""

from __future__ import annotations

from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType
from sqlglot import exp

from streamsql.errors import UnsupportedError
from streamsql.executor.spark.column import ColumnContext, aggregate, column
from streamsql.executor.spark.context import (
    END_COLUMN,
    HEADERS_COLUMN,
    HEADERS_TYPE,
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    START_COLUMN,
    TIME_COLUMN,
    Scope,
    quoted,
)
from streamsql.executor.spark.guard import expression_context, is_reference
from streamsql.nodes import Emit, Expression, Window
from streamsql.planner.logical import Aggregate
from streamsql.schema import Kind, WindowType
from streamsql.types import type_of

_STEP = "GroupBy"
_ORDER = "$order"
_EVENT = "$event"
_WINDOW = "$window"


def lower(node: Aggregate, inputs: tuple[DataFrame, ...], scope: Scope) -> DataFrame:
    (rows,) = inputs
    if node.input.kind is Kind.TABLE:
        raise UnsupportedError(
            "GROUP BY over a table is not run yet",
            hint="Group the stream that the table is made from.",
        )
    if node.window is not None and node.window.type is WindowType.SESSION:
        raise UnsupportedError(
            "session windows are not run yet", hint="Use a TUMBLING or HOPPING window."
        )
    rows = rows.where(~quoted(NULL_COLUMN))
    prepared, calls = _prepare(rows, node, scope)
    prepared = _without_null_keys(prepared, node, scope)
    grouped = _group(prepared, node)
    named = {name: quoted(name) for name in prepared.columns}
    context = ColumnContext(columns=named, jvm=scope.jvm)
    results = [
        aggregate(call, context, quoted(_ORDER)).alias(item.name)
        for call, item in zip(calls, node.aggregates, strict=True)
    ]
    totals = grouped.agg(F.max(quoted(TIME_COLUMN)).alias(TIME_COLUMN), *results)
    if node.window is not None and node.window.advance is not None:
        # Hopping windows reach back before the epoch; Kafka Streams has none that begin there.
        totals = totals.where(F.col(f"`{_WINDOW}`.start") >= F.timestamp_millis(F.lit(0)))
    return _result(totals, node)


def _prepare(rows: DataFrame, node: Aggregate, scope: Scope) -> tuple[DataFrame, list[Expression]]:
    """Keys and arguments as columns of their own, which may report a failure (inside an aggregate
    that is not possible), and the calls over these columns."""
    context = expression_context(node.input.schema, scope, _STEP)
    needed: dict[str, Column] = {
        f"$key{i}": column(item.expression, context) for i, item in enumerate(node.keys)
    }
    calls: list[Expression] = []
    for i, item in enumerate(node.aggregates):
        call = item.expression.copy()
        for j, argument in enumerate(call.expressions):
            if isinstance(argument, exp.Star) or argument.find(exp.Column) is None:
                continue
            name = argument.name if is_reference(argument) else f"$argument{i}_{j}"
            needed[name] = quoted(name) if is_reference(argument) else column(argument, context)
            argument.replace(_reference(name, argument))
        calls.append(call)
    order = F.struct(quoted(OFFSET_COLUMN), quoted(PARTITION_COLUMN))
    columns = [value.alias(name) for name, value in needed.items()]
    return rows.select(*columns, quoted(TIME_COLUMN), order.alias(_ORDER)), calls


def _reference(name: str, typed: Expression) -> Expression:
    reference = exp.Column(this=exp.to_identifier(name, quoted=True))
    reference.type = type_of(typed)
    return reference


def _without_null_keys(rows: DataFrame, node: Aggregate, scope: Scope) -> DataFrame:
    if not node.keys:
        return rows
    keys = [quoted(f"$key{i}") for i in range(len(node.keys))]
    checked: list[Column] = []
    for i, key in enumerate(keys):
        message = (
            f"Group-by column with index {i} resolved to null. "
            "The source row will be excluded from the table."
        )
        report = scope.jvm.report_null(F.lit(message), BooleanType(), scope.log, _STEP)
        checked.append(F.when(key.isNull(), F.coalesce(report, F.lit(True))))
    excluded = F.coalesce(*checked, F.lit(False))
    anything_null = reduce(or_, (key.isNull() for key in keys))
    return rows.where(F.when(anything_null, ~excluded).otherwise(F.lit(True)))


def _group(rows: DataFrame, node: Aggregate) -> GroupedData:
    keys = [quoted(f"$key{i}").alias(item.name) for i, item in enumerate(node.keys)]
    if node.window is None:
        return rows.groupBy(*keys)
    event = F.timestamp_millis(quoted(TIME_COLUMN))
    grace = node.window.grace
    assert grace is not None, "the planner fills in the default"
    timed = rows.withColumn(_EVENT, event).withWatermark(f"`{_EVENT}`", f"{grace.ms} milliseconds")
    return timed.groupBy(*keys, _window(node.window).alias(_WINDOW))


def _window(window: Window) -> Column:
    size = f"{window.size.ms} milliseconds"
    advance = f"{window.advance.ms} milliseconds" if window.advance else size
    return F.window(quoted(_EVENT), size, advance)


def _result(totals: DataFrame, node: Aggregate) -> DataFrame:
    """The columns of the schema and the system columns."""
    columns = [quoted(item.name) for item in (*node.keys, *node.aggregates)]
    start, end = _bounds(node)
    if node.window is not None:
        columns += [start.alias("WINDOWSTART"), end.alias("WINDOWEND")]
    return totals.select(
        *columns,
        quoted(TIME_COLUMN).alias("ROWTIME"),
        quoted(TIME_COLUMN),
        F.lit(False).alias(NULL_COLUMN),
        F.lit(None).cast(HEADERS_TYPE).alias(HEADERS_COLUMN),
        start.alias(START_COLUMN),
        end.alias(END_COLUMN),
        # A batch makes one row of a group: there is no order to keep.
        F.lit(0).alias(PARTITION_COLUMN),
        F.lit(0).cast("bigint").alias(OFFSET_COLUMN),
    )


def _bounds(node: Aggregate) -> tuple[Column, Column]:
    if node.window is None:
        none = F.lit(None).cast("bigint")
        return none, none
    return F.unix_millis(F.col(f"`{_WINDOW}`.start")), F.unix_millis(F.col(f"`{_WINDOW}`.end"))


def output_mode(emit: Emit) -> str:
    """Final results are appended once; changes update what was written."""
    return "append" if emit is Emit.FINAL else "update"

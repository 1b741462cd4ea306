"""Shared parts of GROUP BY: keys and arguments as columns, and the frame of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, IntegerType, StructField, StructType
from sqlglot import exp

from streamsql import types
from streamsql.executor.expressions.expression import ColumnContext, aggregate, column
from streamsql.executor.frames.context import (
    END_COLUMN,
    HEADERS_COLUMN,
    HEADERS_TYPE,
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    START_COLUMN,
    SYSTEM_COLUMNS,
    TIME_COLUMN,
    Scope,
    quoted,
)
from streamsql.executor.frames.guard import JvmErrorGuard, expression_context, is_reference
from streamsql.executor.frames.keyed import normalized, operate, unpacked, unpacked_headers
from streamsql.executor.frames.layouts import Columns
from streamsql.executor.spark.types import spark_type
from streamsql.nodes import Expression
from streamsql.planner.operators import Aggregate, Named, Scan, operators
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.types.scope import text_of
from streamsql.types import to_sql, type_of

STEP = "GroupBy"
ORDER = "$order"
"""The rows' order of arrival, as a sort column."""


@dataclass(frozen=True)
class Grouping:
    """An aggregation over columns of a frame: `$key0`, `$key1` .. and those of `needed`.

    Expressions are columns by then, since they may report a failure, which is not possible inside
    an aggregate.
    """

    node: Aggregate
    keys: tuple[Column, ...]
    needed: dict[str, Column]
    calls: tuple[Expression, ...]

    @property
    def columns(self) -> list[Column]:
        keys = [key.alias(name) for key, name in zip(self.keys, self.key_names, strict=True)]
        return [*keys, *(value.alias(name) for name, value in self.needed.items())]

    @property
    def key_names(self) -> list[str]:
        return [f"$key{i}" for i in range(len(self.keys))]

    @property
    def text(self) -> str:
        names = ", ".join(expression_text(item.expression) for item in self.node.keys)
        return f"GROUP BY {names}" if names else "aggregation of all rows"

    def layout(self, buffers: Any = None) -> Columns:
        """The aggregates in a store's layout, and the result of AggregateBuffers for them."""
        calls = [
            (expression_text(item.expression), to_sql(type_of(item.expression)))
            for item in self.node.aggregates
        ]
        lines = buffers.layout().splitlines() if buffers is not None else []
        return (*calls, *((name, kind) for name, kind in (line.split("\t") for line in lines)))

    def key(self) -> Column:
        """The group as a struct with the names of the result's key columns."""
        named = [
            normalized(quoted(name), spark_type(type_of(item.expression))).alias(item.name)
            for name, item in zip(self.key_names, self.node.keys, strict=True)
        ]
        return F.struct(*named) if named else F.struct(F.lit(0).alias("$all"))

    @property
    def key_type(self) -> StructType:
        fields = [(item.name, spark_type(type_of(item.expression))) for item in self.node.keys]
        return StructType([StructField(*field) for field in fields or [("$all", IntegerType())]])

    def results(self, scope: Scope, sign: Column | None = None) -> list[Column]:
        """The aggregates over the frame of `columns`, named as in the result."""
        named = {name: quoted(name) for name in self.needed}
        context = ColumnContext(columns=named, jvm=scope.jvm)
        return [
            aggregate(_with_room(call), context, quoted(ORDER), sign).alias(item.name)
            for call, item in zip(self.calls, self.node.aggregates, strict=True)
        ]


def grouping(node: Aggregate, scope: Scope, *, by_text: bool = False) -> Grouping:
    """The aggregation's keys and arguments over its input's frame. `by_text`: arguments are named
    by their text instead of a number, so that Spark's functions over them are identifiable in the
    plan of a query with other aggregates. (Our own state uses numbers.)"""
    context = expression_context(node.input.schema, scope, STEP)
    keys = tuple(column(item.expression, context) for item in node.keys)
    needed: dict[str, Column] = {}
    calls: list[Expression] = []
    for i, item in enumerate(node.aggregates):
        call = item.expression.copy()
        for j, argument in enumerate(call.expressions):
            if isinstance(argument, exp.Star) or argument.find(exp.Column) is None:
                continue
            name = argument.name if is_reference(argument) else f"$argument{i}_{j}"
            text = f"$argument {expression_text(item.expression)} {j}"
            if by_text and name.startswith("$") and text not in needed:
                name = text
            needed[name] = quoted(name) if is_reference(argument) else column(argument, context)
            argument.replace(_reference(name, argument))
        calls.append(call)
    return Grouping(node, keys, needed, tuple(calls))


def keeps_headers(node: Aggregate) -> bool:
    """Whether results have the headers of their group's last record. They would be state of every
    query, so only a source that declares headers has them."""
    scans = (o for o in operators(node.input) if isinstance(o, Scan))
    return any(scan.source.schema.headers for scan in scans)


def arrival() -> Column:
    return F.struct(quoted(OFFSET_COLUMN), quoted(PARTITION_COLUMN)).alias(ORDER)


def _reference(name: str, typed: Expression) -> Expression:
    reference = exp.Column(this=exp.to_identifier(name, quoted=True))
    reference.type = type_of(typed)
    return reference


def has_group(names: Sequence[str], scope: Scope) -> Column:
    """Whether no key is null; a null key excludes the row, which is reported."""
    if not names:
        return F.lit(True)
    checked: list[Column] = []
    for i, key in enumerate(map(quoted, names)):
        message = (
            f"Group-by column with index {i} resolved to null. "
            "The source row will be excluded from the table."
        )
        report = scope.jvm.report_null(F.lit(message), BooleanType(), scope.log, STEP)
        checked.append(F.when(key.isNull(), F.coalesce(report, F.lit(True))))
    excluded = F.coalesce(*checked, F.lit(False))
    anything_null = reduce(or_, (quoted(name).isNull() for name in names))
    return F.when(anything_null, ~excluded).otherwise(F.lit(True))


def operated(
    rows: DataFrame,
    operator: str,
    *arguments: object,
    grouped: Grouping,
    totals: DataFrame,
    scope: Scope,
) -> DataFrame:
    """The result of a state operator that returns AggregatedRows for rows of KEYED_COLUMNS;
    `totals` has the aggregates' names and types."""
    made = operate([rows], operator, *arguments, scope=scope)
    key = unpacked("key", grouped.key_type, scope)
    row = unpacked("row", totals.schema, scope)
    columns = made.select(
        key.alias("$group"),
        row.alias("$totals"),
        F.col("time").alias(TIME_COLUMN),
        F.col("row").isNull().alias(NULL_COLUMN),
        F.col("start").alias(START_COLUMN),
        F.col("end").alias(END_COLUMN),
        F.col("partition").alias(PARTITION_COLUMN),
        F.col("offset").alias(OFFSET_COLUMN),
        unpacked_headers(scope).alias(HEADERS_COLUMN),
    )
    names = [item.name for item in grouped.node.keys]
    aggregates = [item.name for item in grouped.node.aggregates]
    return columns.select(
        *(quoted("$group").getField(name).alias(name) for name in names),
        *(quoted("$totals").getField(name).alias(name) for name in aggregates),
        *(c for c in columns.columns if c not in ("$group", "$totals")),
    )


_SUMS = ("SUM", "SUM_DISTINCT")
_ROOM = 10
"""Additional digits of a sum of DECIMALs while it is computed, so that a sum that exceeds its type
is recognized: the type has as many digits as each value."""


def _is_sum(call: Expression) -> bool:
    return call.name in _SUMS and types.is_decimal(type_of(call))


def _with_room(call: Expression) -> Expression:
    if not _is_sum(call):
        return call
    precision, scale = types.precision_scale(type_of(call))
    wide = call.copy()
    wide.type = types.decimal(min(precision + _ROOM, types.MAX_PRECISION), scale)
    return wide


def total(item: Named, guard: JvmErrorGuard) -> Column:
    """The aggregate in its own type; a sum that exceeds it is a failure, and null."""
    if not _is_sum(item.expression):
        return quoted(item.name)
    kind = type_of(item.expression)
    precision, scale = types.precision_scale(kind)
    data_type = spark_type(kind)
    message = (
        f"{item.expression.name}: Numeric field overflow: A field with precision {precision} and "
        f"scale {scale} must round to an absolute value less than 10^{precision - scale}"
    )
    fitting = F.coalesce(quoted(item.name).cast(data_type), guard.fail(F.lit(message), data_type))
    value = F.when(~quoted(NULL_COLUMN), fitting)
    return guard.finish(value, data_type, text_of(item.expression)).alias(item.name)


def result(totals: DataFrame, node: Aggregate, scope: Scope) -> DataFrame:
    """The columns of the operator's schema and the system columns; the frame has the keys, the
    aggregates and all system columns, possibly headers."""
    guard = JvmErrorGuard(scope, STEP)
    columns = [
        *(quoted(item.name) for item in node.keys),
        *(total(item, guard) for item in node.aggregates),
    ]
    if node.window is not None:
        columns.append(quoted(START_COLUMN).alias("WINDOWSTART"))
        columns.append(quoted(END_COLUMN).alias("WINDOWEND"))
    if HEADERS_COLUMN not in totals.columns:
        totals = totals.withColumn(HEADERS_COLUMN, F.lit(None).cast(HEADERS_TYPE))
    system = [quoted(name) for name in SYSTEM_COLUMNS]
    return totals.select(*columns, quoted(TIME_COLUMN).alias("ROWTIME"), *system)

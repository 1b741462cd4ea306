"""TopN: the first rows of each group, by a keyed operator; over a table, a preceding operator
provides the previous rows."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from streamsql.executor.expressions.expression import column
from streamsql.executor.frames.context import (
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    SYSTEM_COLUMNS,
    TIME_COLUMN,
    Scope,
    made_columns,
    quoted,
)
from streamsql.executor.frames.guard import expression_context
from streamsql.executor.frames.keyed import (
    columns_type,
    input_rows,
    key_columns,
    normalized,
    operate,
    packed_key,
    primary_key,
    struct_type,
    unpacked,
)
from streamsql.executor.frames.layouts import columns_of_type
from streamsql.executor.frames.table_changes import pair, table_changes
from streamsql.executor.operators.lowering import Inputs, Lowering, latest
from streamsql.executor.spark.types import spark_type
from streamsql.planner.operators import TopN
from streamsql.planner.scopes.text import expression_text
from streamsql.schema import Kind
from streamsql.types import type_of

_STEP = "TopN"
_GROUP, _ROW, _ID = "$group", "$row", "$id"


def lower(node: TopN, inputs: Inputs, scope: Scope) -> DataFrame:
    (rows,) = inputs
    prepared = _prepare(node, rows, scope)
    carried = _carried(node, rows, scope)
    names = [_ID, *_order_names(node), *carried]
    row_type = columns_type(prepared, names)
    group_type = struct_type(prepared, quoted(_GROUP))
    group = scope.jvm.pack(quoted(_GROUP), group_type)
    row = scope.jvm.pack(F.struct(*map(quoted, names)), row_type)
    if node.input.kind is Kind.TABLE:
        member = F.when(~quoted(NULL_COLUMN), pair(group, row, scope))
        members = table_changes(prepared, quoted(_ID), member, scope)
    else:
        nothing = F.lit(None).cast("binary")
        members = input_rows(prepared, group, pair(nothing, row, scope))
    _note_stores(node, group_type, row_type, scope)
    directions = "".join("d" if order.descending else "a" for order in node.order)
    retracts = node.input.kind is Kind.TABLE
    arguments = (row_type.json(), directions, node.count, retracts, node.ranks.value)
    ranked = operate([members], "tables.TopN", *arguments, scope=scope)
    return _result(node, ranked, row_type, group_type, carried, scope)


def _carried(node: TopN, rows: DataFrame, scope: Scope) -> list[str]:
    """The input's own columns; with a checkpoint, those that it contains."""
    own = [name for name in rows.columns if name not in SYSTEM_COLUMNS]
    read = scope.read_above(node)
    wanted = own if read is None else [name for name in own if name in read]
    kept = scope.layouts.next_kept(*_first_store(node))
    return own if kept is None else scope.layouts.columns(wanted, own, *_first_store(node))


def _first_store(node: TopN) -> tuple[str]:
    retracts = node.input.kind is Kind.TABLE
    return ("tables.TableChanges" if retracts else "tables.TopN",)


def _note_stores(node: TopN, group_type: StructType, row_type: StructType, scope: Scope) -> None:
    order = ", ".join(expression_text(order.expression) for order in node.order)
    ranks = f" {node.ranks.value}" if node.rank else ""
    operator = f"TOP {node.count} BY {order}{ranks}"
    row = columns_of_type(row_type)
    if node.input.kind is Kind.TABLE:
        scope.layouts.add("tables.TableChanges", operator, key_columns(node.input.schema.key), row)
    scope.layouts.add("tables.TopN", operator, columns_of_type(group_type), row)


def _order_names(node: TopN) -> list[str]:
    return [f"$order{number}" for number in range(len(node.order))]


def _prepare(node: TopN, rows: DataFrame, scope: Scope) -> DataFrame:
    """Group, order and row identity of a table, in addition to the input's columns."""
    present = ~quoted(NULL_COLUMN)
    if node.input.kind is Kind.STREAM:
        rows = rows.where(present)
    context = expression_context(node.input.schema, scope, _STEP)
    keys = [
        normalized(
            F.when(present, column(key.expression, context)), spark_type(type_of(key.expression))
        ).alias(f"key{number}")
        for number, key in enumerate(node.keys)
    ]
    orders = [
        F.when(present, column(order.expression, context)).alias(name)
        for name, order in zip(_order_names(node), node.order, strict=True)
    ]
    group = F.struct(*(keys or [F.lit(True).alias("all")]))
    return rows.select(
        group.alias(_GROUP), _id(node, rows, scope).alias(_ID), *orders, *map(quoted, rows.columns)
    )


def _id(node: TopN, rows: DataFrame, scope: Scope) -> Column:
    """The packed primary key; null in a stream."""
    if node.input.kind is Kind.STREAM:
        return F.lit(None).cast("binary")
    return packed_key(rows, primary_key(node.input.schema.key), scope)


def _result(
    node: TopN,
    ranked: DataFrame,
    row_type: StructType,
    group_type: StructType,
    carried: list[str],
    scope: Scope,
) -> DataFrame:
    rows = ranked.select(
        unpacked("key", group_type, scope).alias(_GROUP),
        unpacked("row", row_type, scope).alias(_ROW),
        F.col("number").alias(node.number),
        *([F.col("rank").alias(node.rank)] if node.rank else []),
        F.col("time").alias(TIME_COLUMN),
        F.col("row").isNull().alias(NULL_COLUMN),
        F.col("partition").alias(PARTITION_COLUMN),
        F.col("offset").alias(OFFSET_COLUMN),
    )
    return rows.select(
        *(
            quoted(_GROUP).getField(f"key{number}").alias(key.name)
            for number, key in enumerate(node.keys)
        ),
        quoted(node.number),
        *([quoted(node.rank)] if node.rank else []),
        *(quoted(_ROW).getField(name).alias(name) for name in carried),
        *made_columns(*map(quoted, (TIME_COLUMN, NULL_COLUMN, PARTITION_COLUMN, OFFSET_COLUMN))),
    )


LOWERING = Lowering(lower, latest(lower))

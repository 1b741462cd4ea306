"""Join: rows of two inputs by the state operator for their kinds, unpacked into one row."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from streamsql.executor.expressions.expression import ColumnContext, predicate
from streamsql.executor.frames.context import (
    END_COLUMN,
    HEADERS_COLUMN,
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    START_COLUMN,
    TIME_COLUMN,
    Scope,
    columns_of,
    quoted,
)
from streamsql.executor.frames.guard import expression_context
from streamsql.executor.frames.keyed import operate, unpacked, unpacked_headers
from streamsql.executor.operators.joins.foreign_key import join_by_foreign_key
from streamsql.executor.operators.joins.inputs import ON_COLUMN, Side, note_stores, sides
from streamsql.executor.operators.joins.rows import join_rows
from streamsql.executor.operators.lowering import Inputs, Lowering, latest
from streamsql.nodes import JoinType
from streamsql.planner.operators import Join, JoinKind, Operator
from streamsql.planner.plans.delivery import Replay

_KEY, _LEFT, _RIGHT, _MET = "$key", "$left", "$right", "$met"

_DAY_MS = 86_400_000
"""How long rows are kept, window included, without a GRACE PERIOD."""


def lower(node: Join, inputs: Inputs, scope: Scope) -> DataFrame:
    left, right = sides(node, inputs, scope)
    if node.join_kind is JoinKind.ROWS:
        return join_rows(node, left, right)
    note_stores(node, left, right, scope)
    match node.join_kind:
        case JoinKind.STREAM_TABLE:
            joined = _stream_table(node, left, right, scope)
        case JoinKind.TABLE_TABLE:
            inputs_of = [left.keyed(0, scope), right.keyed(1, scope)]
            joined = operate(inputs_of, "joins.TableTableJoin", *_alone(node), scope=scope)
        case JoinKind.STREAM_STREAM:
            joined = _stream_stream(node, left, right, scope)
        case JoinKind.FOREIGN_KEY:
            joined, key_type = join_by_foreign_key(node, left, right, scope)
            names = [c.name for c in node.left.schema.key]
            rows = _result(joined, left, right, key_type, names, scope)
            return _met(rows, node, left, right, scope)
    rows = _result(joined, left, right, left.key_type, [node.key], scope)
    if node.join_kind is JoinKind.STREAM_STREAM:
        return rows
    return _met(rows, node, left, right, scope)


def _met(rows: DataFrame, node: Join, left: Side, right: Side, scope: Scope) -> DataFrame:
    """Without the columns of the other side if the condition fails: a row of the outer side has at
    most one partner."""
    if node.condition is None:
        return rows
    context = expression_context(node.schema, scope, "Join")
    known = {name: value for name, value in context.columns.items() if name in rows.columns}
    met = F.coalesce(predicate(node.condition, replace(context, columns=known)), F.lit(False))
    other = left if node.type is JoinType.RIGHT else right
    lost = {*other.columns} - {START_COLUMN, END_COLUMN}
    rows = rows.withColumn(_MET, met)
    kept = [
        F.when(quoted(_MET), quoted(n)).alias(n) if n in lost else quoted(n) for n in rows.columns
    ]
    return rows.select(*kept).drop(_MET)


def _alone(node: Join) -> tuple[bool, bool]:
    """Whether a left row without a right one is a result, and a right one without a left one."""
    return (
        node.type in (JoinType.LEFT, JoinType.FULL),
        node.type in (JoinType.RIGHT, JoinType.FULL),
    )


def _stream_table(node: Join, left: Side, right: Side, scope: Scope) -> DataFrame:
    outer, _ = _alone(node)
    stream = left if outer else _with_key(left)
    return operate(
        [right.keyed(0, scope), stream.keyed(1, scope)], "joins.StreamTableJoin", outer, scope=scope
    )


def _stream_stream(node: Join, left: Side, right: Side, scope: Scope) -> DataFrame:
    window = node.window
    assert window is not None
    grace, held = window.grace_ms, window.grace_ms is not None
    if grace is None:
        grace = max(_DAY_MS - window.before_ms - window.after_ms, 0)
    times = (window.before_ms, window.after_ms, grace)
    inputs = [_with_key(left).keyed(0, scope), _with_key(right).keyed(1, scope)]
    condition = _condition(node, left, right, scope)
    arguments = (*times, *_alone(node), held, condition)
    return operate(inputs, "joins.StreamStreamJoin", *arguments, scope=scope)


def _condition(node: Join, left: Side, right: Side, scope: Scope) -> object:
    """Further conditions of matching rows for the operator; None without any."""
    if node.condition is None:
        return None
    types = left.type, right.type
    fields = [field for packed in types for field in packed.fields]
    pairs = scope.context.spark.createDataFrame([], StructType(fields))
    context = ColumnContext(columns=columns_of(pairs.columns))
    met = F.coalesce(predicate(node.condition, context), F.lit(False))
    return scope.jvm.join_condition(pairs.select(met.alias(_MET)), *(len(t.fields) for t in types))


def _with_key(side: Side) -> Side:
    """A null key matches no other."""
    return replace(side, rows=side.rows.where(quoted(ON_COLUMN).isNotNull()))


def _result(
    joined: DataFrame,
    left: Side,
    right: Side,
    key_type: StructType,
    keys: list[str],
    scope: Scope,
) -> DataFrame:
    # The row's place for an operator after this one or, for the sink, the record that caused it.
    causes = scope.replay is Replay.CAUSE
    partition, offset = ("causePartition", "causeOffset") if causes else ("partition", "offset")
    rows = joined.select(
        unpacked("key", key_type, scope).alias(_KEY),
        unpacked("left", left.type, scope).alias(_LEFT),
        unpacked("right", right.type, scope).alias(_RIGHT),
        F.col("time").alias(TIME_COLUMN),
        (F.col("left").isNull() & F.col("right").isNull()).alias(NULL_COLUMN),
        unpacked_headers(scope).alias(HEADERS_COLUMN),
        F.col(partition).alias(PARTITION_COLUMN),
        F.col(offset).alias(OFFSET_COLUMN),
    )
    fields = [f"key{i}" for i in range(len(keys))] if len(keys) > 1 else ["key"]
    bounds = (START_COLUMN, END_COLUMN)
    return rows.select(
        *(
            quoted(_KEY).getField(field).alias(name)
            for field, name in zip(fields, keys, strict=True)
        ),
        *_columns(_LEFT, left),
        *_columns(_RIGHT, right),
        quoted(TIME_COLUMN).alias("ROWTIME"),
        TIME_COLUMN,
        NULL_COLUMN,
        HEADERS_COLUMN,
        *(_bound(name, left, right, key_type).alias(name) for name in bounds),
        PARTITION_COLUMN,
        OFFSET_COLUMN,
    )


def _columns(packed: str, side: Side) -> list[Column]:
    names = [name for name in side.columns if name not in (START_COLUMN, END_COLUMN)]
    return [quoted(packed).getField(name).alias(name) for name in names]


def _bound(name: str, left: Side, right: Side, key_type: StructType) -> Column:
    """The left row's window; without a row, that of the key."""
    if name not in left.columns:
        return F.lit(None).cast("bigint")
    found = [quoted(_LEFT).getField(name), quoted(_RIGHT).getField(name)]
    if name in key_type.names:
        found.append(quoted(_KEY).getField(name))
    return F.coalesce(*found)


_BEFORE_ALL = -(2**63)
"""The time of a row that precedes all others."""


def _batch(node: Join, inputs: Inputs, scope: Scope, history: bool) -> DataFrame:
    """A group of the query itself is complete before a row is joined with it."""
    if node.joins_own_groups:
        rows, groups = inputs
        inputs = (rows, groups.withColumn(TIME_COLUMN, F.lit(_BEFORE_ALL)))
    return latest(lower)(node, inputs, scope, history)


def _with_history(node: Join) -> tuple[Operator, ...]:
    table = node.join_kind is JoinKind.STREAM_TABLE and not node.joins_own_groups
    return (node.right,) if table else ()


LOWERING = Lowering(lower, _batch, _with_history)

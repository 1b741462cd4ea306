"""The sides of a join: the key of each row, and the columns that pass through the operator.

Keys are packed structs, compared by their bytes, so equal values must have the same encoding: -0.0
as 0.0, every NaN as one, as in Spark's own grouping.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from streamsql.executor.expressions.expression import column
from streamsql.executor.frames.context import (
    END_COLUMN,
    NULL_COLUMN,
    START_COLUMN,
    SYSTEM_COLUMNS,
    Scope,
    quoted,
)
from streamsql.executor.frames.guard import expression_context, reads_only
from streamsql.executor.frames.keyed import columns_type, keyed_rows, normalized, packed_columns
from streamsql.executor.frames.layouts import columns_of_type
from streamsql.executor.operators.lowering import Inputs
from streamsql.executor.spark.types import spark_type
from streamsql.nodes import Expression
from streamsql.planner.operators import Derived, Join, JoinKind, Operator, Scan, join_text
from streamsql.planner.types.binding import columns_in
from streamsql.schema import ROWTIME, Kind
from streamsql.types import type_of

ON_COLUMN = "$on"
"""The side's join key."""

_STEP = "Join"


@dataclass(frozen=True)
class Side:
    """An input of a join: its frame, with ON_COLUMN, and its required columns."""

    rows: DataFrame
    columns: list[str]
    bounds: tuple[str, ...]
    """Columns of the further join conditions."""

    @property
    def key(self) -> Column:
        """The common key of matching rows, as a struct."""
        return F.struct(quoted(ON_COLUMN).alias("key"), *map(quoted, self.bounds))

    @property
    def key_type(self) -> StructType:
        on, *bounds = columns_type(self.rows, [ON_COLUMN, *self.bounds])
        return StructType([StructField("key", on.dataType, on.nullable), *bounds])

    @property
    def type(self) -> StructType:
        return columns_type(self.rows, packed_columns(self.rows, self.columns))

    def keyed(self, number: int, scope: Scope) -> DataFrame:
        key = scope.jvm.pack(self.key, self.key_type)
        return keyed_rows(self.rows, key, number, scope, self.columns)


def sides(node: Join, inputs: Inputs, scope: Scope) -> tuple[Side, Side]:
    left, right = inputs
    return (
        _side(left, node.left, node.left_on, 0, node, scope),
        _side(right, node.right, node.right_on, 1, node, scope),
    )


def _side(
    rows: DataFrame, plan: Operator, on: Expression, number: int, node: Join, scope: Scope
) -> Side:
    value = column(on, expression_context(plan.schema, scope, _STEP)).cast(spark_type(type_of(on)))
    if plan.kind is Kind.STREAM:
        rows = rows.where(~quoted(NULL_COLUMN))
    elif not reads_only(on, {column.name for column in plan.schema.key}):
        value = F.when(~quoted(NULL_COLUMN), value)
    rows = rows.withColumn(ON_COLUMN, value)
    found = quoted(ON_COLUMN)
    alike = normalized(found, spark_type(type_of(on)))
    if alike is not found:
        rows = rows.withColumn(ON_COLUMN, alike)
    return Side(rows, _columns(rows, number, node, scope), window_bounds(node))


def _columns(rows: DataFrame, number: int, node: Join, scope: Scope) -> list[str]:
    """The required columns of a side; for an existing store, its columns."""
    place = stored_sides(node).get(number)
    needed = scope.needed_above(node) if place is None else scope.read_above(node)
    if needed is not None and node.condition is not None:
        needed |= {reference.name for reference in columns_in(node.condition)}
    own = {*SYSTEM_COLUMNS, ON_COLUMN, ROWTIME.name}
    if node.join_kind is JoinKind.FOREIGN_KEY:
        own |= {c.name for c in node.schema.key}  # these are the result's key
    columns = [n for n in rows.columns if n not in own and (needed is None or n in needed)]
    if node.windowed:
        columns += [START_COLUMN, END_COLUMN]
    if place is None:
        return columns
    return scope.layouts.columns(columns, rows.columns, OPERATORS[node.join_kind], place)


OPERATORS = {
    JoinKind.STREAM_TABLE: "joins.StreamTableJoin",
    JoinKind.TABLE_TABLE: "joins.TableTableJoin",
    JoinKind.STREAM_STREAM: "joins.StreamStreamJoin",
    JoinKind.FOREIGN_KEY: "joins.ForeignKeyJoin",
}
"""State operators by class; for several, the one where rows match."""


def stored_sides(node: Join) -> dict[int, int]:
    """The stored sides, and the place of each among the stores of the join."""
    if node.join_kind is JoinKind.ROWS:
        return {}
    return {1: 0} if node.join_kind is JoinKind.STREAM_TABLE else {0: 0, 1: 1}


def note_stores(node: Join, left: Side, right: Side, scope: Scope) -> None:
    """Records the layout of the stored rows."""
    for number in stored_sides(node):
        side = (left, right)[number]
        scope.layouts.add(
            OPERATORS[node.join_kind],
            f"JOIN {join_text(node)}, {('left', 'right')[number]} rows",
            columns_of_type(side.key_type),
            columns_of_type(side.type),
        )


def window_bounds(node: Join) -> tuple[str, ...]:
    """The bounds that rows must agree on: the start for windows of one size, otherwise the end,
    too."""
    if not node.windowed:
        return ()
    return (START_COLUMN, END_COLUMN) if _have_ends(node.left) else (START_COLUMN,)


def _have_ends(plan: Operator) -> bool:
    if isinstance(plan, (Derived, Scan)):
        window = plan.source.topic.window
        return window is not None and window.has_end
    return any(_have_ends(child) for child in plan.inputs)

"""Project: the result's columns; nothing is evaluated for a row without a value."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamsql.executor.expressions.expression import ColumnContext, column
from streamsql.executor.frames.context import NULL_COLUMN, Scope, quoted, system_columns
from streamsql.executor.frames.guard import expression_context, is_reference, reads_only
from streamsql.executor.operators.lowering import Inputs, Lowering, row_by_row
from streamsql.planner.operators import Named, Project


def lower(node: Project, inputs: Inputs, scope: Scope) -> DataFrame:
    (rows,) = inputs
    context = expression_context(node.input.schema, scope, "Project")
    keys = {c.name for c in node.input.schema.key}
    columns = [_value(item, keys, context) for item in (*node.key, *node.value)]
    return rows.select(*columns, *system_columns())


def _value(item: Named, keys: set[str], context: ColumnContext) -> Column:
    value = column(item.expression, context)
    if not is_reference(item.expression) and not reads_only(item.expression, keys):
        value = F.when(~quoted(NULL_COLUMN), value)
    return value.alias(item.name)


LOWERING = Lowering(lower, row_by_row(lower))

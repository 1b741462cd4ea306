"""Repartition: PARTITION BY gives rows a new key; Kafka's partitioner does the rest."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamsql.executor.expressions.expression import ColumnContext, column
from streamsql.executor.frames.context import NULL_COLUMN, Scope, quoted, system_columns
from streamsql.executor.frames.guard import expression_context, reads_only
from streamsql.executor.operators.lowering import Inputs, Lowering, row_by_row
from streamsql.planner.operators import Named, Repartition


def lower(node: Repartition, inputs: Inputs, scope: Scope) -> DataFrame:
    (rows,) = inputs
    old_keys = {c.name for c in node.input.schema.key}
    context = expression_context(node.input.schema, scope, "PartitionBy")
    keys = [_key(item, old_keys, context) for item in node.keys]
    # A join below omits columns that no operator reads.
    rest = [quoted(c.name) for c in node.schema.value if c.name in rows.columns]
    return rows.select(*keys, *rest, *system_columns())


def _key(item: Named, old_keys: set[str], context: ColumnContext) -> Column:
    """A row without a value still has its old key; expressions over the value are null."""
    key = column(item.expression, context)
    if not reads_only(item.expression, old_keys):
        key = F.when(~quoted(NULL_COLUMN), key)
    return key.alias(item.name)


LOWERING = Lowering(lower, row_by_row(lower))

"""Filter: WHERE and HAVING; a table's row that fails becomes a tombstone."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamsql.executor.spark.column import predicate
from streamsql.executor.spark.context import NULL_COLUMN, Scope, quoted
from streamsql.executor.spark.guard import expression_context
from streamsql.nodes import Emit
from streamsql.planner.logical import Filter
from streamsql.schema import Kind


def lower(node: Filter, inputs: tuple[DataFrame, ...], scope: Scope) -> DataFrame:
    (rows,) = inputs
    step = "Having" if node.clause == "HAVING" else "Where"
    condition = predicate(node.condition, expression_context(node.input.schema, scope, step))
    null = quoted(NULL_COLUMN)
    # The condition is never asked about a row without a value: its failure would be reported.
    passes = F.when(null, F.lit(False)).otherwise(F.coalesce(condition, F.lit(False)))
    if node.kind is Kind.STREAM or scope.emit is Emit.FINAL:
        # A final result that fails was never written before: there is nothing to delete.
        return rows.where(passes)
    return rows.withColumn(NULL_COLUMN, ~passes)

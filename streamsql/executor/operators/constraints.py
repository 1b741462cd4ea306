"""Constraints: records that violate one give no row, and results that do are not written."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamsql.catalog import Source
from streamsql.executor.expressions.expression import expectation
from streamsql.executor.frames.context import NULL_COLUMN, Scope, quoted
from streamsql.executor.frames.guard import expression_context
from streamsql.nodes import ConstraintDefinition, Emit
from streamsql.planner.operators import Scan, Sink
from streamsql.planner.scopes.text import expression_text
from streamsql.schema import Kind, Schema


def meeting_constraints(rows: DataFrame, node: Scan, scope: Scope) -> DataFrame:
    """The rows of the source that violate none of its constraints. A record without a value is not
    checked: all of its value's columns are null, and in a table it deletes."""
    for constraint in node.constraints:
        # As for unreadable records, there is no row.
        met = _met(constraint, node.source, node.schema, "Source", scope)
        rows = rows.where(F.when(quoted(NULL_COLUMN), F.lit(True)).otherwise(met))
    return rows


def results_meeting_constraints(rows: DataFrame, node: Sink, scope: Scope) -> DataFrame:
    """Results that violate none of the sink's constraints. In a table, violating rows delete their
    key, as rows that fail HAVING do, because the previous value is no longer the result."""
    for constraint in node.constraints:
        met = _met(constraint, node.target, node.input.schema, "Sink", scope)
        if node.kind is Kind.STREAM or scope.emit is Emit.FINAL:
            rows = rows.where(F.when(quoted(NULL_COLUMN), F.lit(True)).otherwise(met))
        else:
            deletes = F.when(quoted(NULL_COLUMN), F.lit(True)).otherwise(~met)
            rows = rows.withColumn(NULL_COLUMN, deletes)
    return rows


def _met(
    constraint: ConstraintDefinition, source: Source, schema: Schema, step: str, scope: Scope
) -> Column:
    text = expression_text(constraint.condition)
    return scope.jvm.meets_constraint(
        expectation(constraint.condition, expression_context(schema, scope, step)),
        f"{source.name}.{constraint.name}",
        f"Constraint {constraint.name} of {source.name} is violated: EXPECT ({text})",
        constraint.on_violation,
        scope.log,
        step,
    )

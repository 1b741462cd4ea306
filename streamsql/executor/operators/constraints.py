"""Constraints of a source: records that violate one make no row."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamsql.executor.expressions.expression import expectation
from streamsql.executor.frames.context import NULL_COLUMN, Scope, quoted
from streamsql.executor.frames.guard import expression_context
from streamsql.planner.plans.logical import Scan
from streamsql.planner.scopes.text import expression_text

_STEP = "Source"
"""As for what cannot be read: there is no row of the record."""


def meeting_constraints(rows: DataFrame, node: Scan, scope: Scope) -> DataFrame:
    """The rows of the source that violate none of its constraints. A record without a value is not
    asked: all of its value's columns are null, and in a table it deletes."""
    source = node.source
    for constraint in node.constraints:
        satisfied = expectation(constraint.condition, expression_context(node.schema, scope, _STEP))
        message = (
            f"Constraint {constraint.name} of {source.name} is violated: "
            f"EXPECT ({expression_text(constraint.condition)})"
        )
        met = scope.jvm.meets_constraint(
            satisfied,
            f"{source.name}.{constraint.name}",
            message,
            constraint.on_violation,
            scope.log,
            _STEP,
        )
        rows = rows.where(F.when(quoted(NULL_COLUMN), F.lit(True)).otherwise(met))
    return rows

"""Expressions in an operator: where they find their columns, and to whom they report failures."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from streamsql.executor.spark.column import ColumnContext
from streamsql.executor.spark.context import Scope, columns_of
from streamsql.nodes import Expression
from streamsql.schema import Schema


def expression_context(schema: Schema, scope: Scope, step: str) -> ColumnContext:
    """Columns by the schema's names; a failing expression is reported under the step's name."""
    return ColumnContext(
        columns=columns_of(schema.names), guard=scope.jvm.error_guard(scope.log, step)
    )


def is_reference(expression: Expression) -> bool:
    """Whether it is a column and nothing else, which cannot fail."""
    return isinstance(expression, exp.Column)


def reads_only(expression: Expression, names: Collection[str]) -> bool:
    """Whether every column of the expression is among those named."""
    return all(reference.name in names for reference in expression.find_all(exp.Column))

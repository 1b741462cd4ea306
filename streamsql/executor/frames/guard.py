"""Expressions in an operator: column resolution and failure reports."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.types import DataType
from sqlglot import exp

from streamsql.executor.expressions.expression import ColumnContext
from streamsql.executor.frames.context import Scope, columns_of
from streamsql.nodes import Expression
from streamsql.schema import Schema


class JvmErrorGuard:
    """Failures of expressions go to the query's processing log, through the JVM."""

    def __init__(self, scope: Scope, step: str) -> None:
        self._java = scope.jvm.error_guard(scope.log, step)

    def fail(self, message: Column, data_type: DataType) -> Column:
        """Within an expression: records its failure and gives a null of the type."""
        return ClassicColumn(self._java.fail(cast(Any, message)._jc, data_type.json()))

    def finish(self, value: Column, data_type: DataType, text: str) -> Column:
        """Outermost: the value; after a failure in its evaluation, null and one log entry."""
        struct = cast(Any, F.struct(value.alias("value")))._jc
        name = cast(Any, F.lit(text))._jc
        return ClassicColumn(self._java.finish(struct, data_type.json(), name))

    def contain(self, value: Column, data_type: DataType, text: str) -> Column:
        """Around a part: the value; null after a failure in its evaluation."""
        opening = ClassicColumn(self._java.opening())
        struct = cast(Any, F.struct(opening.alias("outer"), value.alias("value")))._jc
        name = cast(Any, F.lit(text))._jc
        return ClassicColumn(self._java.contain(struct, data_type.json(), name))


def expression_context(schema: Schema, scope: Scope, step: str) -> ColumnContext:
    """Resolves columns by the schema's names; failures are reported under the step's name."""
    return ColumnContext(columns=columns_of(schema.names), guard=JvmErrorGuard(scope, step))


def is_reference(expression: Expression) -> bool:
    """Whether it is a plain column, which cannot fail."""
    return isinstance(expression, exp.Column)


def reads_only(expression: Expression, names: Collection[str]) -> bool:
    """Whether the expression reads only the named columns."""
    return all(reference.name in names for reference in expression.find_all(exp.Column))

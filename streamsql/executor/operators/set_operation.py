"""SetOperation: UNION, INTERSECT and EXCEPT, by Spark's own operations on sets."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamsql.executor.frames.context import Scope, quoted
from streamsql.executor.operators.lowering import Inputs, Lowering, present
from streamsql.executor.operators.values import bounded_columns
from streamsql.executor.spark.types import spark_type
from streamsql.nodes import SetOperator
from streamsql.planner.operators import SetOperation

_OPERATIONS: dict[SetOperator, Callable[[DataFrame, DataFrame], DataFrame]] = {
    SetOperator.UNION: lambda left, right: left.union(right).distinct(),
    SetOperator.EXCEPT: lambda left, right: left.subtract(right),
    SetOperator.INTERSECT: lambda left, right: left.intersect(right),
}


def lower(node: SetOperation, inputs: Inputs, scope: Scope) -> DataFrame:
    left, right = (
        rows.select(*(quoted(c.name).cast(spark_type(c.type)).alias(c.name) for c in node.schema))
        for rows in inputs
    )
    made = _OPERATIONS[node.operator](left, right)
    return made.select(*(quoted(c.name) for c in node.schema), *bounded_columns(F.lit(0), scope))


def _batch(node: SetOperation, inputs: Inputs, scope: Scope, history: bool) -> DataFrame:
    return lower(node, present(node, inputs), scope)


LOWERING = Lowering(lower, _batch)

"""Values: rows of the statement itself, without a topic."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamsql.executor.expressions.expression import column
from streamsql.executor.frames.context import (
    Scope,
    made_columns,
    quoted,
)
from streamsql.executor.frames.guard import expression_context
from streamsql.executor.operators.lowering import Inputs, Lowering, row_by_row
from streamsql.executor.spark.types import spark_type
from streamsql.planner.operators import Values
from streamsql.schema import Schema


def lower(node: Values, inputs: Inputs, scope: Scope) -> DataFrame:
    del inputs
    context = expression_context(Schema(()), scope, "Values")
    rows = [
        F.struct(
            F.lit(number).alias("$number"),
            *(
                column(value, context).cast(spark_type(to.type)).alias(to.name)
                for value, to in zip(values, node.columns, strict=True)
            ),
        )
        for number, values in enumerate(node.rows)
    ]
    one = scope.context.spark.range(0, 1, 1, 1)
    made = one.select(F.explode(F.array(*rows)).alias("$row"))
    cells = [quoted("$row").getField(c.name).alias(c.name) for c in node.columns]
    place = quoted("$row").getField("$number")
    return made.select(*cells, *bounded_columns(place, scope))


def bounded_columns(offset: Column, scope: Scope) -> list[Column]:
    """The system columns of rows without a topic."""
    return made_columns(scope.jvm.clock(), F.lit(False), F.lit(0), offset.cast("bigint"))


LOWERING = Lowering(lower, row_by_row(lower))

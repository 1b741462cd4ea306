"""Values, SetOperation: operators of queries that end. Their rows are of no topic."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamsql.executor.expressions.expression import column
from streamsql.executor.frames.context import (
    END_COLUMN,
    HEADERS_COLUMN,
    HEADERS_TYPE,
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    START_COLUMN,
    TIME_COLUMN,
    Scope,
    quoted,
)
from streamsql.executor.frames.guard import expression_context
from streamsql.executor.spark.types import spark_type
from streamsql.nodes import SetOperator
from streamsql.planner.operators.set_operation import SetOperation
from streamsql.planner.operators.values import Values
from streamsql.schema import Schema

_OPERATIONS: dict[SetOperator, Callable[[DataFrame, DataFrame], DataFrame]] = {
    SetOperator.UNION: lambda left, right: left.union(right).distinct(),
    SetOperator.EXCEPT: lambda left, right: left.subtract(right),
    SetOperator.INTERSECT: lambda left, right: left.intersect(right),
}


def lower_values(node: Values, inputs: tuple[DataFrame, ...], scope: Scope) -> DataFrame:
    """Each row's expressions, evaluated once."""
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
    one = scope.context.spark.createDataFrame(pa.table({"$row": [0]}))
    made = one.select(F.explode(F.array(*rows)).alias("$row"))
    cells = [quoted("$row").getField(c.name).alias(c.name) for c in node.columns]
    place = quoted("$row").getField("$number").cast("bigint")
    return made.select(*cells, *_system_columns(place))


def lower_set(node: SetOperation, inputs: tuple[DataFrame, ...], scope: Scope) -> DataFrame:
    """By Spark's own operations on sets."""
    del scope
    left, right = (
        rows.select(*(quoted(c.name).cast(spark_type(c.type)).alias(c.name) for c in node.schema))
        for rows in inputs
    )
    made = _OPERATIONS[node.operator](left, right)
    return made.select(*(quoted(c.name) for c in node.schema), *_system_columns(F.lit(0)))


def _system_columns(offset: Column) -> list[Column]:
    none = F.lit(None).cast("bigint")
    columns = {
        TIME_COLUMN: F.unix_millis(F.current_timestamp()),
        NULL_COLUMN: F.lit(False),
        HEADERS_COLUMN: F.lit(None).cast(HEADERS_TYPE),
        START_COLUMN: none,
        END_COLUMN: none,
        PARTITION_COLUMN: F.lit(0),
        OFFSET_COLUMN: offset.cast("bigint"),
    }
    return [value.alias(name) for name, value in columns.items()]

"""FlatMap: table functions side by side, short ones padded with null."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamsql.executor.expressions.expression import table_function
from streamsql.executor.frames.context import (
    HEADERS_COLUMN,
    HEADERS_TYPE,
    NULL_COLUMN,
    Scope,
    quoted,
)
from streamsql.executor.frames.guard import expression_context
from streamsql.executor.operators.lowering import Inputs, Lowering, row_by_row
from streamsql.planner.operators import FlatMap

_ROW = "$zipped"


def lower(node: FlatMap, inputs: Inputs, scope: Scope) -> DataFrame:
    (rows,) = inputs
    context = expression_context(node.input.schema, scope, "FlatMap")
    rows = rows.where(~quoted(NULL_COLUMN))
    # Fields by position: the functions' names are the user's, and can be anything.
    arrays = [
        table_function(item.expression, context).alias(f"${i}")
        for i, item in enumerate(node.functions)
    ]
    before = [quoted(name) for name in rows.columns if name != HEADERS_COLUMN]
    rows = rows.select(*before, *arrays)
    zipped = F.arrays_zip(*(F.coalesce(quoted(f"${i}"), F.array()) for i in range(len(arrays))))
    exploded = rows.select(*before, F.explode(zipped).alias(_ROW))
    values = [F.col(f"`{_ROW}`.`{i}`").alias(item.name) for i, item in enumerate(node.functions)]
    none = F.lit(None).cast(HEADERS_TYPE).alias(HEADERS_COLUMN)
    return exploded.select(*before, *values, none)


LOWERING = Lowering(lower, row_by_row(lower))

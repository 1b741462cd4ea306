"""Derived: a query's result with the pseudo columns of a source; its time may be that of the
clock."""

from __future__ import annotations

from pyspark.sql import DataFrame

from streamsql.executor.frames.context import (
    END_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    START_COLUMN,
    TIME_COLUMN,
    Scope,
    quoted,
    system_columns,
)
from streamsql.executor.operators.lowering import Inputs, Lowering, row_by_row
from streamsql.planner.operators import Derived

_PSEUDO = {
    "ROWTIME": TIME_COLUMN,
    "ROWPARTITION": PARTITION_COLUMN,
    "ROWOFFSET": OFFSET_COLUMN,
    "WINDOWSTART": START_COLUMN,
    "WINDOWEND": END_COLUMN,
}


def lower(node: Derived, inputs: Inputs, scope: Scope) -> DataFrame:
    (rows,) = inputs
    if node.by_clock:
        # Per row: Spark's current_timestamp is constant within a batch. Evaluated once, since Spark
        # does not repeat nondeterministic expressions.
        rows = rows.withColumn(TIME_COLUMN, scope.jvm.clock())
    own = [quoted(column.name) for column in node.source.schema]
    pseudo = [
        quoted(column).alias(name)
        for name, column in _PSEUDO.items()
        if node.schema.find(name) is not None
    ]
    return rows.select(*own, *pseudo, *system_columns())


LOWERING = Lowering(lower, row_by_row(lower))

"""GROUP BY in session windows, by a keyed operator: Spark's does not retract the window of an
extended session."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamsql.executor.frames.context import TIME_COLUMN, Scope, quoted
from streamsql.executor.frames.keyed import input_rows, packed_headers
from streamsql.executor.frames.layouts import columns_of_type
from streamsql.executor.operators.aggregation.grouping import (
    ORDER,
    Grouping,
    keeps_headers,
    operated,
)
from streamsql.nodes import Emit, Window

_STREAM_TIME = "$stream_time"


def lower(rows: DataFrame, window: Window, grouped: Grouping, scope: Scope) -> DataFrame:
    assert window.grace is not None, "the planner fills in the default"
    # SessionWindows finds the row's stream time in the first column.
    names = [_STREAM_TIME, *grouped.needed, ORDER]
    timed = rows.withColumn(_STREAM_TIME, scope.jvm.stream_time(quoted(TIME_COLUMN)))
    values = timed.select(*(quoted(name) for name in names))
    totals = values.groupBy().agg(*grouped.results(scope))
    key = scope.jvm.pack(grouped.key(), grouped.key_type)
    row = scope.jvm.pack(F.struct(*map(quoted, names)), values.schema)
    headers = packed_headers(scope) if keeps_headers(grouped.node) else None
    keyed = input_rows(timed, key, row, headers=headers)
    buffers = scope.jvm.aggregate_buffers(totals)
    scope.layouts.add(
        "aggregates.SessionWindows",
        grouped.text,
        columns_of_type(grouped.key_type),
        grouped.layout(buffers),
    )
    return operated(
        keyed,
        "aggregates.SessionWindows",
        buffers,
        len(names),
        window.size.ms,
        window.grace.ms,
        grouped.node.emit is not Emit.FINAL,
        grouped=grouped,
        totals=totals,
        scope=scope,
    )

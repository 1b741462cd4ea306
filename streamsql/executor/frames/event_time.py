"""The event time of a column: BIGINT ms, TIMESTAMP, or text in a format."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from sqlglot import exp

from streamsql.executor.expressions.expression import ColumnContext, column
from streamsql.executor.frames.context import quoted
from streamsql.planner.types.inference import infer
from streamsql.schema import Schema, TimestampColumn
from streamsql.types import BIGINT, STRING, TIMESTAMP


def event_time(timestamp: TimestampColumn, schema: Schema) -> Column:
    """BIGINT ms since the epoch, null if the column has none."""
    found = schema.find(timestamp.name)
    assert found is not None
    if found.type == BIGINT:
        return quoted(found.name)
    if found.type == TIMESTAMP:
        return F.unix_millis(quoted(found.name))
    reference = exp.Column(this=exp.to_identifier(found.name, quoted=True))
    if timestamp.format is not None:
        call: exp.Expr = exp.Anonymous(
            this="STRINGTOTIMESTAMP",
            expressions=[reference, exp.Literal.string(timestamp.format)],
        )
    else:
        call = exp.Cast(this=reference, to=TIMESTAMP.copy())
    typed = infer(call, {found.name: STRING})
    value = column(typed, ColumnContext(columns={found.name: quoted(found.name)}))
    return value if timestamp.format is not None else F.unix_millis(value)

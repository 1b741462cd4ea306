"""What columns stand for, as expressions, so that their texts can be compared."""

from __future__ import annotations

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.explain.plan import frame_text
from streamsql.planner.plans.windows import OverCall
from streamsql.schema import Column
from streamsql.types import type_of


def typed(column: Column) -> Expression:
    """Something of the column's type."""
    node = exp.Null()
    node.type = column.type
    return node


def meaning(call: OverCall) -> Expression:
    """What a column of OVER is, as an expression."""
    if call.lag:
        value, *default = call.expressions
        node = exp.Anonymous(
            this="LAG", expressions=[value, exp.Literal.number(call.lag), *default]
        )
    else:
        frame = [exp.Literal.string(text) for text in [frame_text(call).strip()] if text]
        node = exp.Anonymous(this="OVER", expressions=[call.expression, *frame])
    node.type = type_of(call.expression)
    return node

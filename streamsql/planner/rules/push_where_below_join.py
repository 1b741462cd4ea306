"""WHERE on the stream of a stream-table or lookup join filters before the join, which then sees
fewer rows.

Only there: the stream's rows have no state and no retractions. The rows of a stream-stream join
also advance its time, and those of a table retract their results.
"""

from __future__ import annotations

from dataclasses import replace

from streamsql.nodes import Expression
from streamsql.planner.operators import Filter, Join, JoinKind, LookupJoin, Operator
from streamsql.planner.plans.rewriting import conjunction, conjuncts, transform_up
from streamsql.planner.types.binding import columns_in
from streamsql.schema import ROWTIME


def push_where_below_join(plan: Operator) -> Operator:
    return transform_up(plan, _push)


def _push(plan: Operator) -> Operator:
    if not isinstance(plan, Filter) or not isinstance(plan.input, Join | LookupJoin):
        return plan
    join = plan.input
    if isinstance(join, Join) and join.join_kind is not JoinKind.STREAM_TABLE:
        return plan
    stream = join.left if isinstance(join, Join) else join.input
    parts = conjuncts(plan.condition)
    below = [part for part in parts if _only_over(part, stream)]
    above = [part for part in parts if not _only_over(part, stream)]
    if not below:
        return plan
    filtered = _push(Filter(stream, conjunction(below), plan.clause))
    lowered: Operator
    if isinstance(join, Join):
        lowered = replace(join, left=filtered)
    else:
        lowered = replace(join, input=filtered)
    return Filter(lowered, conjunction(above), plan.clause) if above else lowered


def _only_over(part: Expression, side: Operator) -> bool:
    """Whether a condition reads only the side's columns, and none that the join creates."""
    columns = columns_in(part)
    names = {column.name for column in side.schema} - {ROWTIME.name}
    return bool(columns) and all(column.name in names for column in columns)

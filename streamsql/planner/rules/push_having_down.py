"""HAVING on grouping keys alone filters before the aggregation: no state for groups never shown.

Not for windows: rows that are filtered before them would no longer close them. Not over tables,
where a filter keeps state of its own.
"""

from __future__ import annotations

from streamsql.nodes import Expression
from streamsql.planner.operators import Aggregate, Filter, Operator
from streamsql.planner.plans.rewriting import conjunction, conjuncts, transform_up
from streamsql.planner.types.binding import columns_in, replace
from streamsql.schema import Kind


def push_having_down(plan: Operator) -> Operator:
    return transform_up(plan, _push)


def _push(plan: Operator) -> Operator:
    if not isinstance(plan, Filter) or not isinstance(plan.input, Aggregate):
        return plan
    aggregate = plan.input
    if aggregate.window is not None or aggregate.input.kind is Kind.TABLE:
        return plan
    keys = {key.name: key.expression for key in aggregate.keys}
    parts = conjuncts(plan.condition)
    below = [p for p in parts if _only_keys(p, keys)]
    above = [p for p in parts if not _only_keys(p, keys)]
    if not below:
        return plan
    condition = conjunction([_over_input(p, keys) for p in below])
    lowered = Aggregate(
        Filter(aggregate.input, condition),
        aggregate.keys,
        aggregate.aggregates,
        aggregate.window,
        aggregate.emit,
    )
    return Filter(lowered, conjunction(above), plan.clause) if above else lowered


def _only_keys(part: Expression, keys: dict[str, Expression]) -> bool:
    columns = columns_in(part)
    return bool(columns) and all(column.name in keys for column in columns)


def _over_input(part: Expression, keys: dict[str, Expression]) -> Expression:
    """The condition over the aggregation's input, with keys expanded."""
    columns = columns_in(part)
    return replace(part, lambda node: keys[node.name].copy() if node in columns else None)

"""PARTITION BY the key that the rows have already does nothing."""

from __future__ import annotations

from sqlglot import exp

from streamsql.planner.plans.logical import LogicalPlan, Named, Repartition
from streamsql.planner.plans.rewriting import transform_up


def remove_repartitions(plan: LogicalPlan) -> LogicalPlan:
    """The plan without repartitions to an unchanged key."""
    return transform_up(plan, _remove)


def _remove(plan: LogicalPlan) -> LogicalPlan:
    if not isinstance(plan, Repartition):
        return plan
    key = tuple(column.name for column in plan.input.schema.key)
    same = key and key == tuple(_column_name(named) for named in plan.keys)
    return plan.input if same else plan


def _column_name(named: Named) -> str | None:
    """The column that a key is a plain copy of."""
    expression = named.expression
    is_copy = isinstance(expression, exp.Column) and expression.name == named.name
    return named.name if is_copy else None

"""Removes PARTITION BY the key that the rows have already."""

from __future__ import annotations

from sqlglot import exp

from streamsql.planner.operators import Named, Operator, Repartition
from streamsql.planner.plans.rewriting import transform_up


def remove_repartitions(plan: Operator) -> Operator:
    return transform_up(plan, _remove)


def _remove(plan: Operator) -> Operator:
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

"""Rules, and their application to every operator of a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.operators import Operator
from streamsql.types import BOOLEAN

Rule = Callable[[Operator], Operator]
"""Rewrites a plan into one with the same schema and rows."""


def transform_up(plan: Operator, change: Rule) -> Operator:
    """The plan with `change` applied to every operator, inputs first."""
    changed = {}
    for field in fields(plan):
        source = getattr(plan, field.name)
        if isinstance(source, Operator):
            new = transform_up(source, change)
            if new is not source:
                changed[field.name] = new
    if changed:
        plan = replace(plan, **changed)
    return change(plan)


def conjuncts(condition: Expression) -> list[Expression]:
    if isinstance(condition, exp.And):
        return [*conjuncts(condition.this), *conjuncts(condition.expression)]
    return [condition]


def conjunction(parts: list[Expression]) -> Expression:
    result = parts[0].copy()
    for part in parts[1:]:
        result = exp.And(this=result, expression=part.copy())
        result.type = BOOLEAN
    return result

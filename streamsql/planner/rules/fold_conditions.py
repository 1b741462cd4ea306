"""Folds constant conditions: TRUE parts of an AND and a TRUE HAVING are removed. A TRUE WHERE is
kept: over a stream it still drops rows with a null value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.operators import Filter, Operator
from streamsql.planner.plans.rewriting import conjunction, conjuncts, transform_up
from streamsql.planner.types.constants import evaluate_constant
from streamsql.planner.types.inference import is_constant
from streamsql.types import BOOLEAN

_COMPARISONS: dict[type[Expression], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}


def fold_conditions(plan: Operator) -> Operator:
    return transform_up(plan, _fold)


def _fold(plan: Operator) -> Operator:
    if not isinstance(plan, Filter):
        return plan
    parts = conjuncts(plan.condition)
    kept = [part for part in parts if not _is_true(part)]
    if not kept and plan.clause == "HAVING":
        return plan.input
    if len(kept) == len(parts):
        return plan
    condition = conjunction(kept) if kept else _true()
    return Filter(plan.input, condition, plan.clause) if condition != plan.condition else plan


def _is_true(part: Expression) -> bool:
    if not is_constant(part):
        return False
    if isinstance(part, tuple(_COMPARISONS)):
        return _holds(part)
    return evaluate_constant(part) is True


def _holds(part: Expression) -> bool:
    """Whether a comparison of two integers, or two equal texts, is surely true."""
    left, right = evaluate_constant(part.this), evaluate_constant(part.expression)
    if type(left) is type(right) is int or isinstance(part, (exp.EQ, exp.NEQ)):
        comparable = type(left) is type(right) and isinstance(left, (int, str))
        return comparable and _COMPARISONS[type(part)](left, right)
    return False


def _true() -> Expression:
    literal = exp.Boolean(this=True)
    literal.type = BOOLEAN
    return literal

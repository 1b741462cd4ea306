"""Conditions that no null satisfies, and relations of exactly one row."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import Aggregate, Project, Relation, Values
from streamsql.planner.relational.expressions import conjuncts

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike)
_STRICT = (
    *(*_COMPARISONS, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Paren),
    *(exp.Cast, exp.DPipe, exp.Abs, exp.Upper, exp.Lower),
)


def rejects_nulls(conditions: Iterable[Expression]) -> set[str]:
    """The ids of fields that are not null where all conditions are true."""
    found: set[str] = set()
    for condition in conditions:
        for part in conjuncts(condition):
            found |= _rejected(part)
    return found


def _rejected(condition: Expression) -> set[str]:
    if isinstance(condition, exp.Paren):
        return _rejected(condition.this)
    if isinstance(condition, exp.Or):
        return _rejected(condition.this) & _rejected(condition.expression)
    if isinstance(condition, exp.And):
        return _rejected(condition.this) | _rejected(condition.expression)
    if isinstance(condition, exp.Not):
        inner = condition.this
        inner = inner.this if isinstance(inner, exp.Paren) else inner
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
            return _strict(inner.this)
        return _strict(inner) if isinstance(inner, _COMPARISONS) else set()
    if isinstance(condition, exp.In):
        return _strict(condition.this)
    return _strict(condition) if isinstance(condition, (*_COMPARISONS, exp.Column)) else set()


def _strict(expression: Expression) -> set[str]:
    """The ids of fields any of which makes the expression null."""
    if isinstance(expression, exp.Column):
        return {expression.name}
    if isinstance(expression, _STRICT):
        found: set[str] = set()
        for part in expression.iter_expressions():
            found |= _strict(part)
        return found
    return set()


def has_exactly_one_row(relation: Relation) -> bool:
    match relation:
        case Project(input):
            return has_exactly_one_row(input)
        case Aggregate(keys=(), aggregates=aggregates):
            return bool(aggregates)
        case Values(rows):
            return len(rows) == 1
    return False

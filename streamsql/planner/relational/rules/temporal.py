"""Temporal filters: comparisons with NOW(), which let rows in and out as time passes."""

from __future__ import annotations

from sqlglot import exp

from streamsql.errors import UnsupportedError
from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import (
    Filter,
    Join,
    JoinKind,
    Relation,
    TemporalFilter,
)
from streamsql.planner.relational.dependent import anywhere, expressions
from streamsql.planner.relational.expressions import (
    cast,
    conjunction,
    conjuncts,
    has_clock,
    operand,
    typed,
)
from streamsql.planner.relational.joins import joined, on
from streamsql.planner.scopes.spans import span_of
from streamsql.types import INTERVAL, TIMESTAMP

_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}
_TICK = exp.Interval(this=exp.Literal.string("1"), unit=exp.Var(this="MICROSECOND"))


def with_temporal_filters(relation: Relation) -> Relation:
    """The relation with a TemporalFilter for each comparison with NOW(); UnsupportedError where
    NOW() stands elsewhere, because a view would have to change all the time."""
    result = anywhere(relation, _changed)
    _check(result)
    return result


def _changed(node: Relation) -> Relation:
    if isinstance(node, Filter):
        parts = conjuncts(node.condition)
        return _filtered(node.input, parts)
    if isinstance(node, Join) and node.kind is JoinKind.INNER:
        parts = on(node)
        if not any(has_clock(part) for part in parts):
            return node
        rest = [part for part in parts if not has_clock(part)]
        inner = joined(node.left, node.right, node.kind, conjunction(rest))
        return _filtered(inner, [part for part in parts if has_clock(part)])
    return node


def _filtered(relation: Relation, parts: list[Expression]) -> Relation:
    rest = conjunction([part for part in parts if not has_clock(part)])
    if rest is not None:
        relation = Filter(relation, rest)
    for part in parts:
        if has_clock(part):
            relation = _temporal(relation, part)
    return relation


def _temporal(relation: Relation, condition: Expression) -> Relation:
    node = type(condition)
    if node not in _TURNED:
        raise _unsupported(condition)
    left, right = condition.this, condition.expression
    if not has_clock(left):
        left, right, node = right, left, _TURNED[node]
    if has_clock(right):
        raise _unsupported(condition)
    moment = _solved(left, right, condition)
    # Now is before the moment, or not before it; a row is there at the last moment of `<=`.
    if node in (exp.LTE, exp.GT):
        moment = typed(exp.Add(this=operand(moment), expression=_tick()), TIMESTAMP)
    if node in (exp.LT, exp.LTE):
        return TemporalFilter(relation, until=moment)
    return TemporalFilter(relation, since=moment)


def _tick() -> Expression:
    return typed(_TICK.copy(), INTERVAL)


def _solved(clock: Expression, other: Expression, condition: Expression) -> Expression:
    """What NOW() is compared with, where `clock` is."""
    while isinstance(clock, exp.Paren):
        clock = clock.this
    if isinstance(clock, exp.Cast) and clock.type == TIMESTAMP:
        return _solved(clock.this, other, condition)
    if isinstance(clock, exp.AtTimeZone) and clock.args["zone"].name.upper() == "UTC":
        return _solved(clock.this, other, condition)  # LOCALTIMESTAMP
    if isinstance(clock, exp.CurrentTimestamp):
        return other if other.type == TIMESTAMP else cast(other.copy(), TIMESTAMP)
    if isinstance(clock, exp.Add | exp.Sub) and has_clock(clock.this):
        back = exp.Sub if isinstance(clock, exp.Add) else exp.Add
        by = clock.expression
        if by.type == INTERVAL:
            start = other if other.type == TIMESTAMP else cast(other.copy(), TIMESTAMP)
            moved = back(this=operand(start.copy()), expression=operand(by.copy()))
            return _solved(clock.this, typed(moved, TIMESTAMP), condition)
        if isinstance(clock, exp.Sub) and other.type == INTERVAL and by.type == TIMESTAMP:
            moved = exp.Add(this=operand(by.copy()), expression=operand(other.copy()))
            return _solved(clock.this, typed(moved, TIMESTAMP), condition)
    raise _unsupported(condition)


def _check(relation: Relation) -> None:
    for part in expressions(relation):
        if has_clock(part):
            raise _unsupported(part)
    for below in relation.inputs:
        _check(below)


def _unsupported(expression: Expression) -> UnsupportedError:
    return UnsupportedError(
        "NOW() in a view stands in comparisons of WHERE only.",
        hint="Write `time > NOW() - INTERVAL '1 hour'`, with <, <=, > or >=, joined by AND.",
        span=span_of(expression),
    )

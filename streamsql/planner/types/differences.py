"""Differences of two TIMESTAMPs that are compared with an INTERVAL or passed to EXTRACT: both
become arithmetic with milliseconds. They are not values by themselves."""

from __future__ import annotations

from sqlglot import exp

from streamsql import types
from streamsql.errors import TypeMismatchError
from streamsql.nodes import Expression
from streamsql.planner.types.moments import has_interval, length_of
from streamsql.planner.types.scope import Scope, describe, span_of
from streamsql.types import SQLType, type_of
from streamsql.values.intervals import Interval, interval

_DAY_MS = 86_400_000
_MONTH_MS = 30 * _DAY_MS
"""Length of a month in PostgreSQL's comparisons of intervals."""
_PARTS = {"DAY": (_DAY_MS, None), "HOUR": (3_600_000, 24), "MINUTE": (60_000, 60)}
_SECONDS = {"SECOND": 60_000, "EPOCH": None}


def difference(node: Expression, scope: Scope) -> Expression | None:
    """`a - b` of TIMESTAMPs, or of one and a DATE, in milliseconds; None for anything else."""
    inner = node.unnest()
    if not isinstance(inner, exp.Sub) or has_interval(inner):
        return None
    kinds = [type_of(scope.infer(side)) for side in (inner.left, inner.right)]
    if types.TIMESTAMP not in kinds or any(k not in (types.TIMESTAMP, types.DATE) for k in kinds):
        return None
    millis = [_millis(s, k) for s, k in zip((inner.left, inner.right), kinds, strict=True)]
    return exp.Sub(this=millis[0], expression=millis[1])


def _millis(moment: Expression, kind: SQLType) -> Expression:
    moment = moment.copy()
    if kind == types.DATE:
        moment = exp.Cast(this=moment, to=types.TIMESTAMP.copy())
    return exp.Anonymous(this="UNIX_TIMESTAMP", expressions=[moment])


def compared(node: exp.Binary, scope: Scope) -> Expression | None:
    """`a - b < INTERVAL ..`, typed; None where no difference is compared."""
    sides = _lengths([node.left, node.right], node, scope)
    if sides is None:
        return None
    return scope.infer(_like(node, this=sides[0], expression=sides[1]))


def between(node: exp.Between, scope: Scope) -> Expression | None:
    """`a - b BETWEEN INTERVAL .. AND INTERVAL ..`, typed; None for other values."""
    found = _lengths([node.this, node.args["low"], node.args["high"]], node, scope)
    if found is None:
        return None
    return scope.infer(_like(node, this=found[0], low=found[1], high=found[2]))


def _lengths(sides: list[Expression], node: Expression, scope: Scope) -> list[Expression] | None:
    """All sides in milliseconds, if one of them is a difference."""
    differences = [difference(side, scope) for side in sides]
    if not any(differences):
        return None
    pairs = zip(differences, sides, strict=True)
    return [made or _length(side, node, scope) for made, side in pairs]


def _length(side: Expression, node: Expression, scope: Scope) -> Expression:
    inner = side.unnest()
    found = length_of(inner)
    if found is None and isinstance(inner, exp.Literal) and inner.is_string:
        text = interval(inner.name)
        found = None if text is None else (text, None)
    if found is None:
        raise TypeMismatchError(
            "the difference of two TIMESTAMPs is compared with an INTERVAL, but "
            f"{describe(scope.infer(inner))} is not one",
            hint="For example a - b < INTERVAL '5' MINUTE, or EXTRACT(EPOCH FROM a - b) < 300.",
            span=span_of(node),
        )
    amount = _number(_whole(found[0]))
    return amount if found[1] is None else exp.Mul(this=amount, expression=found[1].copy())


def _whole(length: Interval) -> int:
    return length.months * _MONTH_MS + length.millis


def part(node: exp.Extract, scope: Scope) -> Expression | None:
    """EXTRACT of a difference, typed; None of anything else."""
    millis = difference(node.expression, scope)
    if millis is None:
        return None
    name = node.name.upper().removesuffix("S")
    made: Expression = exp.Paren(this=millis)
    if name in _SECONDS:
        made = _modulo(made, _SECONDS[name])
        double = exp.Cast(this=made, to=types.DOUBLE.copy())
        made = exp.Div(this=double, expression=exp.Literal(this="1e3", is_string=False))
    elif name in _PARTS:
        size, most = _PARTS[name]
        made = _modulo(exp.Div(this=made, expression=_number(size)), most)
        made = exp.Cast(this=made, to=types.INT.copy())
    else:
        raise TypeMismatchError(
            f"the difference of two TIMESTAMPs has no {node.name.upper()}, but "
            f"{', '.join((*_PARTS, *_SECONDS))}",
            span=span_of(node),
        )
    made.meta.update(node.meta)
    return scope.infer(made)


def _modulo(value: Expression, most: int | None) -> Expression:
    if most is None:
        return value
    return exp.Mod(this=exp.Paren(this=value), expression=_number(most))


def _number(value: int) -> Expression:
    literal = exp.Literal(this=str(abs(value)), is_string=False)
    return literal if value >= 0 else exp.Neg(this=literal)


def _like(node: Expression, **args: Expression) -> Expression:
    made: Expression = type(node)(**args)
    made.meta.update(node.meta)
    return made

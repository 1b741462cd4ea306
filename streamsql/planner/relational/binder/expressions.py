"""Expressions of syntax nodes to typed ones over fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from streamsql.errors import UnsupportedError
from streamsql.nodes import Expression
from streamsql.planner.relational import typing
from streamsql.planner.relational.binder.aggregates import AggregateRules
from streamsql.planner.relational.binder.conditions import ConditionRules
from streamsql.planner.relational.binder.rules import Allowed, BindQuery
from streamsql.planner.relational.binder.values import ValueRules
from streamsql.planner.scopes.spans import span_of

__all__ = ["Allowed", "BindQuery", "ExpressionBinder"]


class ExpressionBinder(ValueRules, ConditionRules, AggregateRules):
    """Binds the expressions of one SELECT."""

    def bind(self, node: Expression) -> Expression:
        method = _METHODS.get(type(node))
        if method is None:
            if isinstance(node, exp.Func):
                return self._call(node)
            raise UnsupportedError(
                f"{type(node).__name__} is not supported in a relational query.",
                span=span_of(node),
            )
        bound: Expression = method(self, node)
        if node.meta and not bound.meta:
            bound.meta.update(node.meta)
        return bound

    def condition(self, node: Expression) -> Expression:
        return typing.condition(self.bind(node), self.allowed.clause)


_E = ExpressionBinder
_METHODS: dict[type[exp.Expr], Callable[[ExpressionBinder, Any], Expression]] = {
    exp.Column: _E._column,
    exp.Literal: _E._literal,
    exp.Boolean: _E._boolean,
    exp.Null: _E._null,
    exp.Interval: _E._interval,
    exp.Paren: _E._paren,
    exp.And: _E._and,
    exp.Or: _E._or,
    exp.Not: _E._not,
    **dict.fromkeys(
        (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
        _E._comparison,
    ),
    exp.Is: _E._is,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv), _E._arithmetic),
    exp.Neg: _E._negative,
    **dict.fromkeys(
        (
            exp.BitwiseAnd,
            exp.BitwiseOr,
            exp.BitwiseXor,
            exp.BitwiseLeftShift,
            exp.BitwiseRightShift,
        ),
        _E._bits,
    ),
    exp.BitwiseNot: _E._bit_not,
    exp.Pow: _E._power,
    exp.DPipe: _E._concatenation,
    **dict.fromkeys(
        (exp.ArrayContainsAll, exp.ArrayContainedBy, exp.ArrayOverlaps), _E._containment
    ),
    **dict.fromkeys(
        (exp.JSONBContainsTopKey, exp.JSONBContainsAnyTopKeys, exp.JSONBContainsAllTopKeys),
        _E._keys,
    ),
    exp.JSONBDeleteAtPath: _E._keys,
    exp.Between: _E._between,
    **dict.fromkeys((exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike), _E._pattern),
    exp.SimilarTo: _E._similar,
    exp.Escape: _E._escape,
    exp.Case: _E._case,
    exp.If: _E._if,
    **dict.fromkeys((exp.Cast, exp.TryCast), _E._cast),
    exp.In: _E._in,
    exp.Array: _E._array,
    exp.Bracket: _E._bracket,
    exp.Dot: _E._field,
    exp.Extract: _E._extract,
    exp.AtTimeZone: _E._at_time_zone,
    **dict.fromkeys((exp.JSONExtract, exp.JSONExtractScalar), _E._json),
    exp.Anonymous: _E._anonymous,
    exp.Filter: _E._filter,
    exp.WithinGroup: _E._ordered_set,
    exp.Window: _E._window,
    exp.Subquery: _E._scalar,
    exp.Exists: _E._exists,
    exp.Tuple: _E._row,
}

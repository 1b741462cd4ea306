"""Comparisons, IN, LIKE and the connectives; with subqueries, too."""

from __future__ import annotations

from sqlglot import exp

from streamsql import types
from streamsql.errors import TypeMismatchError
from streamsql.nodes import Expression, Query
from streamsql.planner.relational import typing
from streamsql.planner.relational.binder.pending import (
    ComparedQuery,
    ExistsQuery,
    ScalarQuery,
)
from streamsql.planner.relational.binder.rules import SYMBOLS, Rules
from streamsql.planner.relational.binder.scopes import Bound
from streamsql.planner.relational.expressions import (
    boolean,
    compare,
    conjunction,
    disjunction,
    is_not_null,
    is_null,
    negation,
    null,
    operand,
    typed,
)
from streamsql.planner.relational.typing import UNKNOWN, coerced, is_open, kind_of, settled
from streamsql.planner.scopes.spans import span_of
from streamsql.types import BOOLEAN, INTERVAL, NULL, STRING

_CONTAINMENT: dict[type[exp.Expr], str] = {
    exp.ArrayContainsAll: "@>",
    exp.ArrayContainedBy: "<@",
    exp.ArrayOverlaps: "&&",
}
_CONTAINMENT_NODES: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.ArrayContainsAll: exp.ArrayContainsAll,
    exp.ArrayContainedBy: exp.ArrayContainsAll,
    exp.ArrayOverlaps: exp.ArrayOverlaps,
}
_OF_KEYS: dict[type[exp.Expr], str] = {
    exp.JSONBContainsTopKey: "JSONB_EXISTS",
    exp.JSONBContainsAnyTopKeys: "JSONB_EXISTS_ANY",
    exp.JSONBContainsAllTopKeys: "JSONB_EXISTS_ALL",
    exp.JSONBDeleteAtPath: "JSONB_DELETE_PATH",
}


def _is_written_row(value: Expression) -> bool:
    return isinstance(value, exp.Struct) and kind_of(value) != INTERVAL


class ConditionRules(Rules):
    """Of conditions."""

    def _and(self, node: exp.And) -> Expression:
        if node.meta.get("any_of"):
            array, value = node.expression.expressions
            return self.bind(exp.EQ(this=value, expression=exp.Any(this=array)))
        both = [self._truth(part, "AND") for part in (node.this, node.expression)]
        return conjunction(both) or boolean(True)

    def _or(self, node: exp.Or) -> Expression:
        both = [self._truth(part, "OR") for part in (node.this, node.expression)]
        return disjunction([operand(part) for part in both]) or boolean(False)

    def _not(self, node: exp.Not) -> Expression:
        inner = node.this
        if isinstance(inner, exp.In) and inner.args.get("query") is not None:
            return self._in_query(inner, negated=True)
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
            row = self.bind(inner.this)
            if _is_written_row(row):
                # Each of its values is there: neither IS NULL nor IS NOT NULL may hold of a row.
                parts = [is_not_null(part.expression) for part in row.expressions]
                return conjunction(parts) or boolean(True)
        return negation(self._truth(inner, "NOT"))

    def _comparison(self, node: exp.Binary) -> Expression:
        right = node.expression
        if isinstance(right, exp.Any | exp.All):
            return self._quantified(node, right)
        if isinstance(node.this, exp.Tuple) and isinstance(right, exp.Tuple | exp.Subquery):
            return self._row_comparison(node)
        a, b = self.bind(node.this), self.bind(right)
        a, b = typing.comparable(a, b, SYMBOLS[type(node)])
        return compare(type(node), a, b)

    def _row_comparison(self, node: exp.Binary) -> Expression:
        left, right = node.this, node.expression
        if isinstance(right, exp.Subquery):
            query = self.query(right.this, self.scope)
            return self._compared(
                self.bind_all(left.expressions), type(node), query, all_=False, at=node
            )
        if len(right.expressions) != len(left.expressions):
            raise TypeMismatchError("rows of unequal size cannot be compared", span=span_of(node))
        pairs = list(zip(left.expressions, right.expressions, strict=True))
        if isinstance(node, exp.EQ | exp.NullSafeEQ):
            parts = [self.bind(type(node)(this=a, expression=b)) for a, b in pairs]
            return conjunction(parts) or boolean(True)
        if isinstance(node, exp.NEQ | exp.NullSafeNEQ):
            parts = [self.bind(type(node)(this=a, expression=b)) for a, b in pairs]
            return disjunction(parts) or boolean(False)
        strict = exp.LT if isinstance(node, exp.LT | exp.LTE) else exp.GT
        whole: Expression | None = None
        for number_, (a, b) in enumerate(reversed(pairs)):
            last = type(node) if number_ == 0 else strict
            first = self.bind(last(this=a, expression=b))
            if whole is None:
                whole = first
                continue
            equal = self.bind(exp.EQ(this=a, expression=b))
            rest = conjunction([equal, operand(whole)])
            assert rest is not None
            whole = disjunction([operand(first), operand(rest)])
        return whole or boolean(True)

    def _is(self, node: exp.Is) -> Expression:
        value = node.expression
        if isinstance(value, exp.Null) and node.meta.get("of_truth"):
            return is_null(self._truth(node.this, "IS UNKNOWN"))
        if isinstance(value, exp.Null):
            inner = self.bind(node.this)
            if _is_written_row(inner):
                parts = [is_null(part.expression) for part in inner.expressions]
                return conjunction(parts) or boolean(True)
            return is_null(coerced(inner, STRING) if kind_of(inner) in (UNKNOWN, NULL) else inner)
        truth = self.bind(value)
        return compare(exp.NullSafeEQ, self._truth(node.this, "IS"), truth)

    def _between(self, node: exp.Between) -> Expression:
        low = self.bind(exp.GTE(this=node.this, expression=node.args["low"]))
        high = self.bind(exp.LTE(this=node.this.copy(), expression=node.args["high"]))
        return conjunction([low, high]) or boolean(True)

    def _pattern(self, node: exp.Binary) -> Expression:
        pattern, escape = node.expression, None
        if isinstance(pattern, exp.Any | exp.All):
            return self._quantified(node, pattern)
        if isinstance(pattern, exp.Escape):
            pattern, escape = pattern.this, pattern.expression
        a = coerced(self.bind(node.this), STRING)
        b = coerced(self.bind(pattern), STRING)
        if kind_of(a) != STRING:
            raise typing.mismatch(type(node).__name__.upper(), kind_of(a), kind_of(b), node)
        if escape is not None:
            return typed(
                exp.Escape(this=compare(type(node), a, b), expression=escape.copy()), BOOLEAN
            )
        return compare(type(node), a, b)

    def _containment(self, node: exp.Binary) -> Expression:
        """`@>`, `<@` and `&&` of arrays and of JSONB."""
        left, right = self.bind(node.this), self.bind(node.expression)
        if typing.is_open(kind_of(left)):
            left = coerced(left, kind_of(right))
        right = coerced(right, kind_of(left)) if typing.is_open(kind_of(right)) else right
        kinds = kind_of(left), kind_of(right)
        if isinstance(node, exp.ArrayContainedBy):
            left, right = right, left
        if all(map(types.is_json, kinds)) and not isinstance(node, exp.ArrayOverlaps):
            return self.bound_call("JSONB_CONTAINS", [left, right])
        if not all(map(types.is_array, kinds)):
            raise typing.mismatch(_CONTAINMENT[type(node)], *kinds, node)
        (left, right), _ = typing.alike([left, right], _CONTAINMENT[type(node)])
        return typed(_CONTAINMENT_NODES[type(node)](this=left, expression=right), BOOLEAN)

    def _keys(self, node: exp.Binary) -> Expression:
        """Of a JSONB: `?` and its like, and `#-`."""
        both = [self.bind(node.this), self.bind(node.expression)]
        return self.bound_call(_OF_KEYS[type(node)], both)

    def _escape(self, node: exp.Escape) -> Expression:
        inner = self.bind(node.this)
        return typed(exp.Escape(this=inner, expression=node.expression.copy()), BOOLEAN)

    def _similar(self, node: exp.SimilarTo) -> Expression:
        return self._pattern(node)

    def _in(self, node: exp.In) -> Expression:
        if node.args.get("query") is not None:
            return self._in_query(node, negated=False)
        if isinstance(node.this, exp.Tuple) or any(
            isinstance(v, exp.Tuple) for v in node.expressions
        ):
            parts = [self.bind(exp.EQ(this=node.this, expression=v)) for v in node.expressions]
            return disjunction([operand(part) for part in parts]) or boolean(False)
        value = self.bind(node.this)
        others = self.bind_all(node.expressions)
        kind = typing.common([kind_of(value), *(kind_of(other) for other in others)])
        if kind is None:
            parts = [self.bind(exp.EQ(this=node.this, expression=v)) for v in node.expressions]
            return disjunction(parts) or boolean(False)
        kind = typing.settled(kind)
        return typed(
            exp.In(
                this=operand(coerced(value, kind)), expressions=[coerced(o, kind) for o in others]
            ),
            BOOLEAN,
        )

    def _scalar(self, node: exp.Subquery) -> Expression:
        query = self.query(node.this, self.scope)
        self._one_column(query, node)
        return self.pending.placeholder(ScalarQuery(query), query.fields[0].type)

    def _exists(self, node: exp.Exists) -> Expression:
        return self.pending.placeholder(ExistsQuery(self.query(node.this, self.scope)), BOOLEAN)

    def _in_query(self, node: exp.In, *, negated: bool) -> Expression:
        query = self.query(node.args["query"], self.scope)
        left = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        operator = exp.NEQ if negated else exp.EQ
        return self._compared(self.bind_all(left), operator, query, all_=negated, at=node)

    def _quantified(self, node: exp.Binary, right: exp.Any | exp.All) -> Expression:
        every = isinstance(right, exp.All)
        inner = right.this
        if isinstance(inner, Query):
            left = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
            query = self.query(inner, self.scope)
            return self._compared(self.bind_all(left), type(node), query, all_=every, at=node)
        values = inner
        if isinstance(values, exp.Paren):
            values = values.this
        if isinstance(values, exp.Array):
            if values.expressions and all(isinstance(v, exp.Null) for v in values.expressions):
                # An array of nulls has texts.
                typing.comparable(self.bind(node.this), null(STRING), SYMBOLS[type(node)])
            parts = [
                self.bind(type(node)(this=node.this, expression=v)) for v in values.expressions
            ]
            joined = conjunction(parts) if every else disjunction([operand(p) for p in parts])
            return joined or boolean(every)
        array = self.bind(values)
        value = self.bind(node.this)
        if is_open(kind_of(array)):
            array = coerced(array, types.array(settled(kind_of(value))))
        if not types.is_array(kind_of(array)):
            raise TypeMismatchError("ANY and ALL take an array or a query", span=span_of(right))
        element = types.element_type(kind_of(array))
        name = exp.to_identifier("element")
        inner_column = typed(exp.Column(this=exp.to_identifier("element")), element)
        body = compare(type(node), coerced(value, element), inner_column)
        if every:
            body = negation(body)
        found = typed(
            exp.ArrayAny(this=array, expression=exp.Lambda(this=body, expressions=[name])), BOOLEAN
        )
        return negation(found) if every else found

    def _compared(
        self,
        values: list[Expression],
        operator: type[exp.Expr],
        query: Bound,
        *,
        all_: bool,
        at: Expression,
    ) -> Expression:
        if len(query.fields) != len(values):
            many = "too many" if len(query.fields) > len(values) else "too few"
            raise TypeMismatchError(f"subquery has {many} columns", span=span_of(at))
        coerced_values = []
        for value, item in zip(values, query.fields, strict=True):
            kind = kind_of(value)
            if typing.is_open(kind):
                value = coerced(value, item.type)
            elif typing.common([kind, item.type]) is None:
                raise typing.mismatch(SYMBOLS.get(operator, "="), kind, item.type, at)
            coerced_values.append(value)
        part = ComparedQuery(tuple(coerced_values), operator, all_, query)
        return self.pending.placeholder(part, BOOLEAN)

    def _one_column(self, query: Bound, node: Expression) -> None:
        if len(query.fields) != 1:
            raise TypeMismatchError("subquery must return only one column", span=span_of(node))

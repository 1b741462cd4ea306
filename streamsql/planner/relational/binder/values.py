"""Literals, CASE, casts, arrays, rows and arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from streamsql import types
from streamsql.errors import TypeMismatchError
from streamsql.nodes import Expression
from streamsql.planner.json_paths import value_and_path
from streamsql.planner.relational import functions, typing
from streamsql.planner.relational.binder.pending import (
    ArrayQuery,
)
from streamsql.planner.relational.binder.rules import SYMBOLS, Rules
from streamsql.planner.relational.binder.scopes import has_column, resolve, whole_row
from streamsql.planner.relational.expressions import (
    cast,
    column,
    number,
    operand,
    typed,
)
from streamsql.planner.relational.typing import UNKNOWN, coerced, kind_of
from streamsql.planner.scopes.spans import span_of
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
)


class ValueRules(Rules):
    """Of values."""

    def _column(self, node: exp.Column) -> Expression:
        if not node.table and node.name in functions.CLOCK and not has_column(node, self.scope):
            call = exp.Anonymous(this=node.name)
            call.meta.update(node.meta)
            return self.bind(call)
        if (entry := whole_row(node, self.scope)) is not None:
            if entry.scalar:
                return column(entry.columns[0][1])
            return row([(name, column(field)) for name, field in entry.columns])
        return resolve(node, self.scope)

    def _literal(self, node: exp.Literal) -> Expression:
        if node.is_string:
            return typed(node.copy(), UNKNOWN)
        text = node.name
        if "e" in text.lower():
            return _scientific(node)
        if "." in text:
            digits = text.replace(".", "").lstrip("-").lstrip("0")
            scale = len(text.split(".")[1])
            return typed(node.copy(), types.decimal(max(len(digits), scale, 1), scale))
        value = abs(int(text))
        if value < 2**31:
            return typed(node.copy(), INT)
        if value < 2**63:
            return typed(node.copy(), BIGINT)
        precision = len(str(value))
        if precision > types.MAX_PRECISION:
            raise TypeMismatchError(
                f"a number of {precision} digits is not supported",
                hint=f"NUMERIC has at most {types.MAX_PRECISION} digits; a DOUBLE has an exponent.",
                span=span_of(node),
            )
        return typed(node.copy(), types.decimal(precision, 0))

    def _boolean(self, node: exp.Boolean) -> Expression:
        return typed(node.copy(), BOOLEAN)

    def _null(self, node: exp.Null) -> Expression:
        return typed(exp.Null(), NULL)

    def _interval(self, node: exp.Interval) -> Expression:
        unit = node.args.get("unit")
        return typing.interval_of(node.this, unit.name if unit is not None else None)

    def _paren(self, node: exp.Paren) -> Expression:
        return self.bind(node.this)

    def _arithmetic(self, node: exp.Binary) -> Expression:
        a, b = self.bind(node.this), self.bind(node.expression)
        if isinstance(node, exp.Sub) and types.is_json(kind_of(a)):
            return self.bound_call(_deletion(kind_of(b)), [a, b])
        return typing.arithmetic(type(node), SYMBOLS[type(node)], operand(a), operand(b))

    def _negative(self, node: exp.Neg) -> Expression:
        value = self.bind(node.this)
        if isinstance(value, exp.Literal) and not value.is_string:
            text = value.name
            text = text[1:] if text.startswith("-") else f"-{text}"
            return typed(exp.Literal.number(text), kind_of(value))
        kind = kind_of(value)
        if typing.is_open(kind):
            value, kind = coerced(value, DOUBLE), DOUBLE
        if not types.is_numeric(kind) and kind != INTERVAL:
            raise TypeMismatchError(
                f"operator does not exist: - {typing.name(kind)}", span=span_of(node)
            )
        return typed(exp.Neg(this=operand(value)), kind)

    def _bits(self, node: exp.Binary) -> Expression:
        a, b = self.bind(node.this), self.bind(node.expression)
        (a, b), kind = typing.alike([a, b], type(node).__name__)
        return typed(type(node)(this=operand(a), expression=operand(b)), kind)

    def _bit_not(self, node: exp.BitwiseNot) -> Expression:
        value = self.bind(node.this)
        return typed(exp.BitwiseNot(this=operand(value)), kind_of(value))

    def _power(self, node: exp.Pow) -> Expression:
        a, b = (coerced(self.bind(part), DOUBLE) for part in (node.this, node.expression))
        return typed(exp.Pow(this=a, expression=b), DOUBLE)

    def _concatenation(self, node: exp.DPipe) -> Expression:
        a, b = self.bind(node.this), self.bind(node.expression)
        kinds = kind_of(a), kind_of(b)
        if any(map(types.is_json, kinds)) and all(k == UNKNOWN or types.is_json(k) for k in kinds):
            return self.bound_call("JSONB_CONCAT", [a, b])
        if types.BYTES in kinds and all(k in (UNKNOWN, types.BYTES) for k in kinds):
            bytes_ = [operand(coerced(part, types.BYTES)) for part in (a, b)]
            return typed(exp.DPipe(this=bytes_[0], expression=bytes_[1]), types.BYTES)
        if any(types.is_array(kind) for kind in kinds):
            return self._array_concatenation(a, b)
        if STRING not in kinds and UNKNOWN not in kinds:
            raise typing.mismatch("||", *kinds, a)
        both = [operand(coerced(part, STRING)) for part in (a, b)]
        return typed(exp.DPipe(this=both[0], expression=both[1]), STRING)

    def _array_concatenation(self, a: Expression, b: Expression) -> Expression:
        kind = next(kind_of(part) for part in (a, b) if types.is_array(kind_of(part)))
        parts = [
            part
            if types.is_array(kind_of(part))
            else typed(exp.Array(expressions=[part]), types.array(kind_of(part)))
            for part in (a, b)
        ]
        return typed(exp.ArrayConcat(this=parts[0], expressions=[parts[1]]), kind)

    def _case(self, node: exp.Case) -> Expression:
        base = node.args.get("this")
        branches = node.args["ifs"]
        conditions = []
        for branch in branches:
            if base is not None:
                conditions.append(self.bind(exp.EQ(this=base.copy(), expression=branch.this)))
            else:
                conditions.append(self._truth(branch.this, "CASE WHEN"))
        default = node.args.get("default")
        results = self.bind_all([branch.args["true"] for branch in branches])
        results.append(self.bind(default) if default is not None else typed(exp.Null(), NULL))
        results, kind = typing.alike(results, "CASE")
        ifs = [
            exp.If(this=condition, true=result)
            for condition, result in zip(conditions, results, strict=False)
        ]
        last = results[-1] if default is not None else None
        return typed(exp.Case(ifs=ifs, default=last), kind)

    def _if(self, node: exp.If) -> Expression:
        return self._case(exp.Case(ifs=[node], default=node.args.get("false")))

    def _cast(self, node: exp.Cast) -> Expression:
        target = typing.standard(node.args["to"])
        if (length := node.args["to"].meta.get(types.LENGTH)) is not None:
            whole = self.bind(type(node)(this=node.this, to=STRING.copy()))
            return self.bound_call("SUBSTRING", [coerced(whole, STRING), number(1), number(length)])
        if types.is_array(target) and _is_empty(node.this):
            return cast(exp.Array(expressions=[]), target)
        value = self.bind(node.this)
        if typing.is_same(kind_of(value), target):
            return value
        if typing.is_open(kind_of(value)) and (types.is_array(target) or target == INTERVAL):
            return typing.coerced(value, target)
        if isinstance(value, exp.Struct) and types.is_struct(target):
            return typing.coerced(value, target)
        numbers_as_times = types.is_time(target) and types.is_numeric(kind_of(value))
        times_as_numbers = types.is_numeric(target) and types.is_time(kind_of(value))
        if numbers_as_times or times_as_numbers:
            raise TypeMismatchError(
                f"cannot cast type {typing.name(kind_of(value))} to {typing.name(target)}",
                span=span_of(node),
            )
        return typed(type(node)(this=value, to=target.copy()), target)

    def _array(self, node: exp.Array) -> Expression:
        inner = node.args.get("query")
        if inner is not None:
            query = self.query(inner, self.scope)
            kind = types.array(query.fields[0].type)
            return self.pending.placeholder(ArrayQuery(query), kind)
        if _is_empty(node):
            raise TypeMismatchError(
                "cannot determine type of empty array",
                hint="CAST it: ARRAY[]::INT[].",
                span=span_of(node),
            )
        return functions.typed_call(exp.Array(expressions=self.bind_all(node.expressions)), "ARRAY")

    def _bracket(self, node: exp.Bracket) -> Expression:
        value = self.bind(node.this)
        index = node.expressions[0]
        kind = kind_of(value)
        if isinstance(index, exp.Slice):
            bounds = [
                self.bind(part) if part is not None else None
                for part in (index.this, index.expression)
            ]
            inner = exp.Slice(this=bounds[0], expression=bounds[1])
            return typed(exp.Bracket(this=value, expressions=[inner]), kind)
        if types.is_json(kind):
            return self.bound_call("JSONB_AT", [value, coerced(self.bind(index), STRING)])
        if not (types.is_array(kind) or types.is_map(kind)):
            raise TypeMismatchError(
                f"cannot subscript a value of type {typing.name(kind)}", span=span_of(node)
            )
        return typed(
            exp.Bracket(this=value, expressions=[self.bind(index)], offset=1),
            types.element_type(kind),
        )

    def _field(self, node: exp.Dot) -> Expression:
        value = self.bind(node.this)
        kind = kind_of(value)
        found = dict(types.fields(kind)) if types.is_struct(kind) else {}
        if node.expression.name not in found:
            raise TypeMismatchError(
                f"{typing.name(kind)} has no field {node.expression.name}", span=span_of(node)
            )
        return typed(
            exp.Dot(this=value, expression=node.expression.copy()), found[node.expression.name]
        )

    def _extract(self, node: exp.Extract) -> Expression:
        value = self.bind(node.expression)
        return functions.typed_call(
            exp.Extract(this=exp.Var(this=node.this.name.upper()), expression=value), "EXTRACT"
        )

    def _json(self, node: exp.JSONExtract | exp.JSONExtractScalar) -> Expression:
        value, path = value_and_path(node)
        text = coerced(self.bind(value), STRING)
        kind = types.JSONB if isinstance(node, exp.JSONExtract) else STRING
        return typed(type(node)(this=text, expression=exp.Literal.string(path)), kind)

    def _at_time_zone(self, node: exp.AtTimeZone) -> Expression:
        value = self.bind(node.this)
        if kind_of(value) != TIMESTAMP:
            value = coerced(value, TIMESTAMP)
        call = exp.AtTimeZone(this=value, zone=self.bind(node.args["zone"]))
        return functions.typed_call(call, "TIMEZONE")

    def _row(self, node: exp.Tuple) -> Expression:
        if len(node.expressions) == 1:
            return self.bind(node.expressions[0])
        return row([(f"F{n}", v) for n, v in enumerate(self.bind_all(node.expressions), 1)])


def _deletion(kind: types.SQLType) -> str:
    """The function of `jsonb - key`, by the type of the key."""
    if types.is_array(kind):
        return "JSONB_DELETE_TEXTS"
    return "JSONB_DELETE_INDEX" if typing.is_integer(kind) else "JSONB_DELETE_TEXT"


def row(values: Sequence[tuple[str, Expression]]) -> Expression:
    """A row of named values."""
    kinds = [(name, typing.settled(kind_of(value))) for name, value in values]
    parts = [
        exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=coerced(value, kind))
        for (name, kind), (_, value) in zip(kinds, values, strict=True)
    ]
    return typed(exp.Struct(expressions=parts), types.row(kinds))


def _is_empty(node: Expression) -> bool:
    return isinstance(node, exp.Array) and not node.expressions and not node.args.get("query")


def _scientific(node: exp.Literal) -> Expression:
    """A number with an exponent: NUMERIC, as in PostgreSQL, if that has the digits."""
    text = format(Decimal(node.name), "f")
    whole, _, fraction = text.lstrip("-").partition(".")
    digits = max(len(whole.lstrip("0")) + len(fraction), 1)
    if digits > types.MAX_PRECISION:
        return typed(node.copy(), DOUBLE)
    kind = types.decimal(digits, len(fraction))
    return cast(typed(exp.Literal.number(text), kind), kind)

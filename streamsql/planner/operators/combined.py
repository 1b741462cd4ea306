"""Joins on several equalities: each side's expressions as one struct, which is compared."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.types import BOOLEAN, SQLType, struct, type_of


def combined(expressions: Sequence[Expression]) -> Expression:
    """The typed expressions as a STRUCT<K0, K1, ..>; null if one of them is, since null equals
    nothing. A single expression is unchanged."""
    if len(expressions) == 1:
        return expressions[0]
    names = [f"K{number}" for number in range(len(expressions))]
    entries = [
        exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=expression.copy())
        for name, expression in zip(names, expressions, strict=True)
    ]
    kinds = [(n, type_of(e)) for n, e in zip(names, expressions, strict=True)]
    made = _typed(exp.Struct(expressions=entries), struct(kinds))
    known = [_known(expression) for expression in expressions]
    condition = known[0]
    for other in known[1:]:
        condition = _typed(exp.And(this=condition, expression=other), BOOLEAN)
    case = exp.Case(ifs=[exp.If(this=condition, true=made)])
    return _typed(case, struct(kinds))


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """The parts of a combined expression; of any other, itself."""
    if isinstance(expression, exp.Case) and len(expression.args["ifs"]) == 1:
        made = expression.args["ifs"][0].args["true"]
        if isinstance(made, exp.Struct) and made.expressions[0].name == "K0":
            return tuple(entry.expression for entry in made.expressions)
    return (expression,)


def part(whole: Expression, number: int, kind: SQLType) -> Expression:
    name = exp.to_identifier(f"K{number}", quoted=True)
    return _typed(exp.Dot(this=whole.copy(), expression=name), kind)


def _known(expression: Expression) -> Expression:
    null = _typed(exp.Is(this=expression.copy(), expression=exp.Null()), BOOLEAN)
    return _typed(exp.Not(this=null), BOOLEAN)


def _typed(node: exp.Expr, kind: SQLType) -> exp.Expr:
    node.type = kind
    return node

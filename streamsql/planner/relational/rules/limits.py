"""`ROW_NUMBER() <= n` and `RANK() <= n`: only the first rows of a partition matter."""

from __future__ import annotations

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import Relation, TopRows, WindowFunctions

_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GTE: exp.LTE,
    exp.GT: exp.LT,
    exp.EQ: exp.EQ,
}
_FUNCTIONS = (exp.RowNumber, exp.Rank)


def limited(
    node: WindowFunctions, conditions: list[Expression]
) -> tuple[Relation, list[Expression]]:
    """The input, with the rows that the conditions leave of it, and the conditions that remain."""
    if len(node.functions) != 1:
        return node.input, conditions
    field, window = node.functions[0]
    function = window.this
    order = window.args.get("order")
    if not isinstance(function, _FUNCTIONS) or order is None:
        return node.input, conditions
    for condition in conditions:
        limit = _limit(condition, field.id)
        if limit is not None:
            ties = isinstance(function, exp.Rank)
            input = TopRows(node.input, node.partition, tuple(order.expressions), limit, 0, ties)
            return input, [other for other in conditions if other is not condition]
    return node.input, conditions


def _limit(condition: Expression, number: str) -> int | None:
    if not isinstance(condition, exp.LTE | exp.LT | exp.GT | exp.GTE | exp.EQ):
        return None
    a, b = condition.this, condition.expression
    node: type[exp.Expr] = type(condition)
    if isinstance(b, exp.Column):
        a, b = b, a
        node = _TURNED.get(node, exp.GT)
    if not (isinstance(a, exp.Column) and a.name == number):
        return None
    if not (isinstance(b, exp.Literal) and not b.is_string and b.name.isdigit()):
        return None
    value = int(b.name)
    if node is exp.LTE:
        return value
    if node is exp.LT:
        return max(value - 1, 0)
    return 1 if node is exp.EQ and value == 1 else None

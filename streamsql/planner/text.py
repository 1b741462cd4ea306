"""Expressions as EXPLAIN and messages show them."""

from __future__ import annotations

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.parser.generate import to_sql


def expression_text(expression: Expression) -> str:
    """Canonical SQL."""
    return to_sql(expression)


def qualified_text(expression: Expression, alias: str) -> str:
    """Canonical SQL; columns inside of it with the source's name, a lone column without."""
    if isinstance(expression, exp.Column):
        return expression_text(expression)
    copy = expression.copy()
    for column in copy.find_all(exp.Column):
        column.set("table", exp.to_identifier(alias, quoted=True))
    return expression_text(copy)

"""Expressions as text in EXPLAIN and messages."""

from __future__ import annotations

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.parser.generate.statements import to_sql
from streamsql.planner.scopes.qualified import as_written


def expression_text(expression: Expression) -> str:
    return to_sql(as_written(expression))


def qualified_text(expression: Expression, alias: str) -> str:
    """Canonical SQL; columns inside of it with the source's name, a lone column without.

    Columns of joined sources know their own (`alias` is then empty).
    """
    if isinstance(expression, exp.Column) or not alias:
        return expression_text(expression)
    copy = expression.copy()
    for column in copy.find_all(exp.Column):
        column.set("table", exp.to_identifier(alias, quoted=True))
    return expression_text(copy)

"""Rejects expressions with a query or a window inside: supported ones are extracted by their clause
before expressions are typed."""

from __future__ import annotations

from sqlglot import exp

from streamsql.errors import UnsupportedError
from streamsql.nodes import Expression
from streamsql.planner.types.comparisons import in_list
from streamsql.planner.types.scope import Scope, span_of


def in_(node: exp.In, scope: Scope) -> Expression:
    """IN over a list; UnsupportedError over a subquery."""
    if node.args.get("query") is not None:
        return subquery(node, scope)
    return in_list(node, scope)


def subquery(node: Expression, scope: Scope) -> Expression:
    """UnsupportedError for a subquery among other conditions."""
    what = "EXISTS" if isinstance(node, exp.Exists) else "IN (SELECT ..)"
    raise UnsupportedError(
        f"{what} is not supported here",
        hint="It can be a condition of WHERE, by itself or joined to others by AND.",
        span=span_of(node),
    )


def over(node: exp.Window, scope: Scope) -> Expression:
    """UnsupportedError for a window function."""
    raise UnsupportedError(
        f"{node.this.name}() OVER is not supported here",
        hint="OVER is allowed in the SELECT; filter its result in an enclosing query: SELECT * "
        "FROM "
        "(SELECT *, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) AS n FROM source) WHERE n <= 3.",
        span=span_of(node),
    )

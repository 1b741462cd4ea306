"""Refuses, by name and with what to write instead, the parts of a query that parse but that nothing
plans yet."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from streamsql.errors import Span, UnsupportedError
from streamsql.nodes import (
    Expression,
    Join,
    Query,
    Relation,
    SelectAll,
    SourceRef,
    Subquery,
)
from streamsql.planner.spans import span_of


def refuse_unplanned(query: Query) -> None:
    """UnsupportedError for the first part of the query that is not planned."""
    for side in _sides(query.relation):
        if isinstance(side, Subquery):
            refuse_unplanned(side.query)
        elif side.start is not None:
            hint = "SET 'auto.offset.reset' = 'earliest' or 'latest' before the query."
            raise _refused(f"FROM {side.start.start.value}", hint, side.start.span)
    for expression in _expressions(query):
        _refuse_in(expression)
    for inner in (*query.union, *(table.query for table in query.common_tables)):
        refuse_unplanned(inner)


def _refuse_in(expression: Expression) -> None:
    for node in expression.find_all(exp.In, exp.Exists, exp.Window):
        if isinstance(node, exp.Window):
            raise _refused("OVER", "Aggregate with GROUP BY and a WINDOW clause.", span_of(node))
        if isinstance(node, exp.Exists) or node.args.get("query") is not None:
            name = "EXISTS" if isinstance(node, exp.Exists) else "IN (SELECT ..)"
            raise _refused(name, "Join the table that the subquery reads.", span_of(node))


def _refused(what: str, hint: str, span: Span | None) -> UnsupportedError:
    return UnsupportedError(f"{what} is not supported yet", hint=hint, span=span)


def _sides(relation: Relation) -> Iterator[SourceRef | Subquery]:
    if isinstance(relation, Join):
        yield from _sides(relation.left)
        yield relation.right
    else:
        yield relation


def _expressions(query: Query) -> Iterator[Expression]:
    for item in query.items:
        if not isinstance(item, SelectAll):
            yield item.expression
    yield from query.group_by
    yield from query.partition_by
    if query.where is not None:
        yield query.where
    if query.having is not None:
        yield query.having

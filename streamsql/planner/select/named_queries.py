"""Expands names of common table expressions and views to subqueries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sqlglot import exp

from streamsql.catalog import View
from streamsql.errors import PlanError, UnsupportedError
from streamsql.nodes import (
    Emit,
    Expression,
    Join,
    MatchRecognize,
    Query,
    Relation,
    SelectAll,
    Side,
    SourceRef,
    Subquery,
    TableFunction,
    ValueRows,
    WindowFunction,
)
from streamsql.planner.scopes.scope import folded
from streamsql.planner.versions import check_no_version
from streamsql.types import quote

Tables = Mapping[str, Query]
"""Visible common table expressions, already expanded."""


def expand(query: Query, views: Mapping[str, View]) -> Query:
    """The query without WITH, and without names of views in FROM.

    PlanError for a view that reads itself and for clauses that an inner query does not support.
    """
    return _expand(query, views, {}, ())


def _expand(
    query: Query, views: Mapping[str, View], tables: Tables, within: tuple[str, ...]
) -> Query:
    known = dict(tables)
    for table in query.common_tables:
        known[table.name] = _inner(table.query, views, known, within)

    def relation(node: Relation) -> Relation:
        if isinstance(node, Join):
            return replace(node, left=relation(node.left), right=relation(node.right))
        return side(node)

    def side(node: Side) -> Side:
        if isinstance(node, ValueRows | TableFunction):
            return node
        if isinstance(node, WindowFunction | MatchRecognize):
            return replace(node, source=named(node.source))
        return named(node)

    def named(node: SourceRef | Subquery) -> SourceRef | Subquery:
        if isinstance(node, Subquery):
            return replace(node, query=_inner(node.query, views, known, within))
        names = (node.name, folded(node.name))
        name = next((n for n in names if n in known or n in views), None)
        if name is None:
            return node
        _check_start(node)
        alias = node.alias or name
        if name in known:
            return Subquery(known[name], alias, node.span, columns=node.columns)
        if name in within:
            raise PlanError(f"the view {quote(name)} reads itself", span=node.span)
        found = _inner(views[name].query, views, {}, (*within, name))
        return Subquery(found, alias, node.span, view=name, columns=node.columns)

    def condition(node: Expression) -> Expression:
        field = "query" if isinstance(node, exp.In) else "this"
        inner = node.args.get(field)
        if isinstance(node, (exp.In, exp.Exists)) and isinstance(inner, Query):
            node = node.copy()
            node.set(field, _inner(inner, views, known, within))
        return node

    selects = [
        replace(
            select,
            relation=relation(select.relation),
            where=select.where and select.where.transform(condition),
        )
        for select in (query, *query.union)
    ]
    return replace(selects[0], union=tuple(selects[1:]), common_tables=())


def _inner(
    query: Query, views: Mapping[str, View], tables: Tables, within: tuple[str, ...]
) -> Query:
    """A query inside another one, which defines order and number of the results."""
    if query.emit is Emit.FINAL:
        raise UnsupportedError(
            "EMIT FINAL is not supported in a subquery",
            hint="Make a table of the final results first, by CREATE TABLE .. AS SELECT .. EMIT "
            "FINAL.",
            span=query.span,
        )
    if query.limit is not None or query.offset is not None:
        raise UnsupportedError(
            f"{'OFFSET' if query.limit is None else 'LIMIT'} is not supported in a subquery",
            hint="The first rows of each group are those WHERE ROW_NUMBER() OVER (..) <= n.",
            span=query.span,
        )
    if query.order_by:
        raise UnsupportedError(
            "ORDER BY is not supported in a subquery",
            hint="Order the result of the whole query.",
            span=query.span,
        )
    return replace(_expand(query, views, tables, within), emit=None)


def _check_start(ref: SourceRef) -> None:
    check_no_version(ref.name, ref.version)
    if ref.start is not None:
        raise PlanError(
            f"{quote(ref.name)} is a query, which has no records to begin reading from",
            hint="Write where to begin behind the sources of that query.",
            span=ref.start.span,
        )


def names_in(query: Query) -> set[str]:
    """The names of all streams, tables and views that a query reads."""
    found: set[str] = set()
    for select in (query, *query.union):
        found |= _relation_names(select.relation)
        for expression in expressions_of(select):
            for inner in queries_in(expression):
                found |= names_in(inner)
        if select is not query and (select.union or select.common_tables):
            found |= names_in(select)
    inner_names = [names_in(table.query) for table in query.common_tables]
    return found.union(*inner_names) - {table.name for table in query.common_tables}


def queries_in(expression: Expression) -> Iterator[Query]:
    """The queries in an expression, without those inside them."""
    for node in expression.walk():
        yield from (part for part in node.args.values() if isinstance(part, Query))


def expressions_of(query: Query) -> Iterator[Expression]:
    """The expressions of a SELECT, those in its FROM included, without those of its `union`."""
    for item in query.items:
        if not isinstance(item, SelectAll):
            yield item.expression
    yield from _relation_expressions(query.relation)
    conditions = (query.where, query.having, query.qualify)
    yield from (condition for condition in conditions if condition is not None)
    yield from (*query.group_by, *query.partition_by, *query.order_by, *query.distinct_on)


def _relation_expressions(relation: Relation) -> Iterator[Expression]:
    match relation:
        case Join():
            yield from _relation_expressions(relation.left)
            yield from _relation_expressions(relation.right)
            if relation.on is not None:
                yield relation.on
        case ValueRows():
            yield from (value for row in relation.rows for value in row)
        case TableFunction():
            yield relation.call


def _relation_names(relation: Relation) -> set[str]:
    if isinstance(relation, Join):
        return _relation_names(relation.left) | _relation_names(relation.right)
    if isinstance(relation, ValueRows | TableFunction):
        return set()
    if isinstance(relation, WindowFunction | MatchRecognize):
        return _relation_names(relation.source)
    return names_in(relation.query) if isinstance(relation, Subquery) else {relation.name}

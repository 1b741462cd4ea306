"""Result columns of a statement without running it, and the expected types of text literals that
represent parameters."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from sqlglot import exp

from streamsql.api.script import PreparedStatement
from streamsql.catalog import Catalog
from streamsql.errors import StreamSQLError
from streamsql.nodes import (
    Delete,
    InsertInto,
    InsertValues,
    Query,
    SelectExpression,
    SelectQuery,
    Update,
)
from streamsql.planner.plans.statements import PullPlan, QueryStatementPlan
from streamsql.planner.returning import returning_query
from streamsql.planner.statements import plan
from streamsql.properties import standard
from streamsql.results import Field
from streamsql.types import SQLType, is_null

_SIBLINGS = (exp.Binary, exp.Between, exp.In, exp.Tuple)
"""Operators that compare or combine values of one type."""


def columns_of(
    statement: PreparedStatement, catalog: Catalog, properties: Mapping[str, str]
) -> tuple[Field, ...] | None:
    """Result columns of a query; None for another statement. Raises the statement's error."""
    node = statement.node
    if isinstance(node, Delete | InsertInto | InsertValues | Update) and node.returning:
        source = catalog.get(node.target)
        node, properties = returning_query(node.returning, source, ()), standard(properties)
    if not isinstance(node, SelectQuery):
        return None
    planned = plan(node, catalog, properties)
    if isinstance(planned, PullPlan):
        return tuple(Field(column.name, column.type) for column in planned.schema)
    assert isinstance(planned, QueryStatementPlan)
    types = {column.name: column.type for column in planned.query.schema}
    return tuple(Field(name, types[name]) for name in planned.query.columns)


def expected_types(
    statement: PreparedStatement,
    marks: Collection[str],
    catalog: Catalog,
    properties: Mapping[str, str],
) -> dict[str, SQLType]:
    """By the text of a literal: the type of the value it is compared or combined with, of the
    column it is inserted into, or of its cast. Unknown types are omitted."""
    found: dict[str, SQLType] = {}
    node = statement.node
    if isinstance(node, InsertValues):
        found |= _inserted(node, marks, catalog)
    for query in _queries(node):
        tables = getattr(getattr(node, "query", None), "common_tables", ())
        for literal in _literals(query):
            mark = str(literal.this)
            if literal.is_string and mark in marks and mark not in found:
                kind = _fitting(literal, query, tables, catalog, properties)
                if kind is not None and not is_null(kind):
                    found[mark] = kind
    return found


def _inserted(node: InsertValues, marks: Collection[str], catalog: Catalog) -> dict[str, SQLType]:
    source = catalog.sources.get(node.target)
    if source is None:
        return {}
    schema = source.schema
    # Without names, the values are those of all columns of records.
    of_records = source.order or tuple(c.name for c in (*schema.key, *schema.value))
    named = node.columns or of_records
    known = {column.name: column.type for column in schema}
    return {
        str(value.this): known[name]
        for row in node.rows
        for name, value in zip(named, row, strict=False)
        if isinstance(value, exp.Literal) and value.is_string and str(value.this) in marks
        if name in known
    }


def _queries(node: Any) -> Iterator[Query]:
    if isinstance(node, Query):
        yield node
    if isinstance(node, exp.Expr):
        return
    if isinstance(node, tuple):
        parts: list[Any] = list(node)
    elif is_dataclass(node) and not isinstance(node, type):
        parts = [getattr(node, field.name) for field in fields(node)]
    else:
        return
    for part in parts:
        yield from _queries(part)


def _literals(query: Query) -> Iterator[exp.Literal]:
    single = (query.where, query.having, query.qualify)
    listed = [item for item in query.items if isinstance(item, SelectExpression)]
    clauses = [
        *(item.expression for item in listed),
        *(clause for clause in single if clause is not None),
        *(*query.group_by, *query.order_by),
    ]
    for clause in clauses:
        yield from clause.find_all(exp.Literal)


def _fitting(
    literal: exp.Literal,
    query: Query,
    tables: tuple[Any, ...],
    catalog: Catalog,
    properties: Mapping[str, str],
) -> SQLType | None:
    parent = literal.parent
    while isinstance(parent, exp.Paren | exp.Neg):
        parent = parent.parent
    if isinstance(parent, exp.Cast):
        cast_to: SQLType = parent.to
        return cast_to
    if not isinstance(parent, _SIBLINGS):
        return None
    for sibling in _parts(parent):
        if any(part is literal for part in sibling.walk()):
            continue
        kind = _type_of(sibling, query, tables, catalog, properties)
        if kind is not None:
            return kind
    return None


def _parts(parent: exp.Expr) -> Iterator[exp.Expr]:
    for value in parent.args.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, exp.Expr):
                yield part


def _type_of(
    expression: exp.Expr,
    query: Query,
    tables: tuple[Any, ...],
    catalog: Catalog,
    properties: Mapping[str, str],
) -> SQLType | None:
    asked = Query(
        items=(SelectExpression(expression.copy(), "FOUND"),),
        relation=query.relation,
        common_tables=query.common_tables or tables,
    )
    try:
        planned = plan(_select(asked), catalog, properties)
    except StreamSQLError:
        return None
    return planned.schema.columns[-1].type if isinstance(planned, PullPlan) else None


def _select(query: Query) -> SelectQuery:
    return SelectQuery(query=replace(query, span=None))

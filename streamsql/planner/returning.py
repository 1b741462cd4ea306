"""RETURNING: a query over the changed rows themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlglot import exp

from streamsql.catalog import Source
from streamsql.nodes import Expression, Query, SelectItem, SelectQuery, ValueRows
from streamsql.parser import to_sql
from streamsql.types import SQLType, element_type, is_array
from streamsql.values.nested import scalar


def returning_query(
    items: Sequence[SelectItem], table: Source, rows: Iterable[Mapping[str, Any]]
) -> SelectQuery:
    """The columns that a statement asks for, of rows by column."""
    columns = table.shown
    values = tuple(tuple(_literal(row.get(c.name), c.type) for c in columns) for row in rows)
    nothing = tuple(_literal(None, c.type) for c in columns)
    names = tuple(column.name for column in columns)
    relation = ValueRows(values or (nothing,), table.name, names)
    query = Query(tuple(items), relation, limit=None if values else 0)
    return SelectQuery(query, text=to_sql(query))


def _literal(value: Any, kind: SQLType) -> Expression:
    """A constant of the value, in the type."""
    if value is None:
        return exp.Cast(this=exp.Null(), to=kind.copy())
    if is_array(kind):
        return exp.Array(expressions=[_literal(item, element_type(kind)) for item in value])
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    text = exp.Literal.string(scalar(kind).text(value))
    return exp.Cast(this=text, to=kind.copy())

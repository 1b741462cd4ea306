"""RETURNING: the changed rows in the columns that a statement asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from streamsql.catalog import Source
from streamsql.nodes import Expression, Query, SelectItem, SelectQuery, ValueRows
from streamsql.parser import to_sql
from streamsql.planner.plans.statements import PullPlan
from streamsql.results import Answer
from streamsql.runtime.state import Context
from streamsql.statements import pull
from streamsql.types import SQLType, element_type, is_array
from streamsql.values.nested import scalar


def returned(
    items: Sequence[SelectItem],
    table: Source,
    rows: Iterable[Mapping[str, Any]],
    context: Context,
) -> Answer:
    """The answer of a query over the rows themselves."""
    columns = table.shown
    values = tuple(tuple(_literal(row.get(c.name), c.type) for c in columns) for row in rows)
    nothing = tuple(_literal(None, c.type) for c in columns)
    relation = ValueRows(values or (nothing,), table.name, table.order)
    query = Query(tuple(items), relation, limit=None if values else 0)
    statement = SelectQuery(query, text=to_sql(query))
    planned = replace(context).plan(statement)
    assert isinstance(planned, PullPlan)
    return pull.answer(planned, context)


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

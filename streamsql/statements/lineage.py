"""SHOW LINEAGE: source columns of a column, and columns derived from it."""

from __future__ import annotations

from collections.abc import Iterable

from streamsql.nodes import LineageDirection, ShowLineage
from streamsql.planner.lineage.graph import Graph
from streamsql.planner.lineage.listing import Line, dependents, origins
from streamsql.results import Field, Result, Rows, Value
from streamsql.runtime.state import Context
from streamsql.statements.dispatch import handle

_RELATED = {
    LineageDirection.OF: ("Source", "Source Column"),
    LineageDirection.FROM: ("Dependent", "Dependent Column"),
}
ALL = "*"
"""Represents all columns in indirect lineage."""


@handle.register
def show_lineage(statement: ShowLineage, context: Context) -> Iterable[Result]:
    state = context.state
    # During a statement, the catalog can contain a query that does not exist yet.
    with state.lock:
        queries = state.queries
        graph = Graph(state.catalog, lambda query_id: queries.definition(query_id).plan.root)
        look = origins if statement.direction is LineageDirection.OF else dependents
        lines = look(graph, statement.name, statement.column, statement.span)
    names = ("Column", *_RELATED[statement.direction], "Kafka Topic", "Type", "Transformation")
    fields = tuple(map(Field, (*names, "Queries")))
    return [Rows(fields, [_row(line) for line in lines], _title(statement))]


def _title(statement: ShowLineage) -> str:
    column = "" if statement.column is None else f".{statement.column}"
    return f"Lineage {statement.direction.value.lower()} {statement.name}{column}"


def _row(line: Line) -> tuple[Value, ...]:
    column, queries = line.column or ALL, ", ".join(line.queries)
    if line.related is None or line.by is None:
        return (column, None, None, None, None, None, queries)
    kind = "DIRECT" if line.by.direct else "INDIRECT"
    place = line.related
    return (column, place.source, place.column or ALL, line.topic, kind, line.by.value, queries)

"""Materialized views: the table that a relation becomes, and the query that maintains it."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.catalog import Catalog, Source
from streamsql.nodes import CreateMaterializedView
from streamsql.planner.operators import Scan, Sink, View
from streamsql.planner.relational import algebra
from streamsql.planner.relational.algebra import Field, RelationalPlan, relations
from streamsql.planner.relational.nullability import never_null
from streamsql.planner.relational.planning import plan_view
from streamsql.planner.versions import as_of
from streamsql.schema import ROW_KEY, Column, Kind, Namespace, Schema, Topic, Watermark
from streamsql.types import STRING


@dataclass(frozen=True)
class Shape:
    """The columns of a view, and the fields that fill them: the key's first."""

    schema: Schema
    fields: tuple[Field, ...]


def shape_of(plan: RelationalPlan) -> Shape:
    """The plan's key is the key of the table if the result shows it, and no part of it can be null;
    otherwise ROW_KEY is."""
    key = plan.key or ()
    shown = bool(key) and all(f in plan.output and never_null(plan.root, f) for f in key)
    hidden = () if shown else (Column(ROW_KEY, STRING, Namespace.KEY),)
    keys = [f for f in plan.output if shown and f in key]
    values = [f for f in plan.output if f not in keys]
    columns = (
        *hidden,
        *(Column(f.name, f.type, Namespace.KEY) for f in keys),
        *(Column(f.name, f.type) for f in values),
    )
    return Shape(Schema(columns), (*keys, *values))


def scans_of(plan: RelationalPlan, catalog: Catalog) -> tuple[Scan, ...]:
    """The sources that a relation reads, each once."""
    read = dict.fromkeys(
        (each.source, each.version)
        for each in relations(plan.root)
        if isinstance(each, algebra.Scan)
    )
    return tuple(Scan(as_of(catalog.get(name), version), name) for name, version in read)


def view_of(plan: RelationalPlan, catalog: Catalog) -> View:
    """The operator that maintains the relation."""
    shape, scans = shape_of(plan), scans_of(plan, catalog)
    return View(scans, plan, shape.schema, shape.fields)


def planned_view(statement: CreateMaterializedView, catalog: Catalog) -> View:
    """The operator that maintains the statement's query."""
    return view_of(plan_view(statement.query, catalog, statement.columns), catalog)


def sink_of_view(view: View, name: str, topic: Topic, query_id: str, statement: str) -> Sink:
    """The view as a table of its own topic."""
    mark = view.plan.watermark
    source = Source(
        name,
        Kind.TABLE,
        view.schema,
        topic,
        created_by_query=query_id,
        statement=statement,
        order=tuple(field.name for field in view.plan.output),
        watermark=mark and Watermark(mark[0].name, mark[1]),
        append_only=view.plan.grows,
    )
    return Sink(view, source)

"""Plans of relational queries: of views, and of pull queries with the standard's meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from streamsql import nodes
from streamsql.catalog import Catalog
from streamsql.errors import PlanError, UnsupportedError
from streamsql.planner.relational.algebra import (
    Join,
    Project,
    Recursion,
    Relation,
    RelationalPlan,
    Scan,
    TemporalJoin,
    relations,
)
from streamsql.planner.relational.binder.queries import QueryBinder
from streamsql.planner.relational.binder.select import UNNAMED
from streamsql.planner.relational.closing import closed, passed_on
from streamsql.planner.relational.decorrelation import decorrelated
from streamsql.planner.relational.dependent import anywhere
from streamsql.planner.relational.dialect import for_spark
from streamsql.planner.relational.expressions import Ids, column
from streamsql.planner.relational.growth import only_grows
from streamsql.planner.relational.keys import best
from streamsql.planner.relational.rules import optimized
from streamsql.planner.relational.rules.projections import merged
from streamsql.planner.relational.rules.temporal import with_temporal_filters


def plan_view(query: nodes.Query, catalog: Catalog, columns: Sequence[str] = ()) -> RelationalPlan:
    """The plan of a materialized view's query, with expressions for Spark; `columns` name those of
    the result."""
    closes = query.emit is nodes.Emit.ON_WINDOW_CLOSE
    ids = Ids()
    plan = _planned(replace(query, emit=None) if closes else query, catalog, ids)
    plan = _named(plan, columns, query)
    _check_followed(plan, catalog, query)
    if any(isinstance(each, Recursion) for each in relations(plan.root)):
        raise UnsupportedError(
            "WITH RECURSIVE is not supported in a materialized view.",
            hint="A SELECT takes it; a view joins a table with itself once for each level.",
            span=query.span,
        )
    root = with_temporal_filters(plan.root)
    if closes:
        root = closed(root, catalog, ids, query.span)
    grows = closes or only_grows(root)
    mark = passed_on(root, plan.output, catalog) if grows else None
    return for_spark(replace(plan, root=root, order=(), grows=grows, watermark=mark))


def _check_followed(plan: RelationalPlan, catalog: Catalog, query: nodes.Query) -> None:
    for relation in relations(plan.root):
        if isinstance(relation, Scan) and catalog.get(relation.source).is_lake:
            raise UnsupportedError(
                f"A materialized view cannot read {relation.source}: it is a table of Iceberg, "
                "which has no changelog.",
                hint="A SELECT without EMIT, or a view that is not materialized, reads it.",
                span=query.span,
            )


def _named(plan: RelationalPlan, columns: Sequence[str], query: nodes.Query) -> RelationalPlan:
    """The plan with names that no two columns of the result share."""
    if len(columns) > len(plan.output):
        raise PlanError(
            "CREATE MATERIALIZED VIEW specifies more column names than columns", span=query.span
        )
    names: list[str] = []
    for number, field in enumerate(plan.output):
        name = columns[number] if number < len(columns) else field.name
        if name in names and name != UNNAMED:
            raise PlanError(
                f"column {name} specified more than once",
                hint=f"Give one of them another name: {name} AS {name}_2.",
                span=query.span,
            )
        copies = sum(known.split("_")[0] == UNNAMED for known in names)
        names.append(f"{name}_{copies}" if name == UNNAMED and copies else name)
    if names == [field.name for field in plan.output]:
        return plan
    fields = {f.id: replace(f, name=n) for f, n in zip(plan.output, names, strict=True)}
    items = tuple((fields.get(f.id, f), column(f)) for f in plan.root.fields)
    key = plan.key and tuple(fields.get(field.id, field) for field in plan.key)
    output = tuple(fields.values())
    return replace(plan, root=merged(Project(plan.root, items)), output=output, key=key)


def plan_query(query: nodes.Query, catalog: Catalog) -> RelationalPlan:
    """The plan of a SELECT that is evaluated once, with expressions for Spark."""
    return for_spark(standard_plan(query, catalog, once=True))


def standard_plan(query: nodes.Query, catalog: Catalog, *, once: bool = False) -> RelationalPlan:
    """The plan of a query; its expressions have PostgreSQL's meaning. `once`: all of its rows
    arrive at one moment, which makes a temporal join a join."""
    return _planned(query, catalog, Ids(), once)


def _planned(query: nodes.Query, catalog: Catalog, ids: Ids, once: bool = False) -> RelationalPlan:
    bound = QueryBinder(catalog, ids).bind(query)
    relation = anywhere(bound.relation, _at_once) if once else bound.relation
    root = optimized(decorrelated(relation, ids), bound)
    return RelationalPlan(root, bound.fields, best(root, bound.fields), bound.order)


def _at_once(node: Relation) -> Relation:
    if not isinstance(node, TemporalJoin):
        return node
    return Join(node.left, node.right, node.kind, node.equalities, node.condition, node.null_safe)

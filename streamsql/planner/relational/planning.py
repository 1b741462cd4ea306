"""Plans of relational queries: of views, and of pull queries with the standard's meaning."""

from __future__ import annotations

from dataclasses import replace

from streamsql import nodes
from streamsql.catalog import Catalog
from streamsql.planner.relational.algebra import RelationalPlan
from streamsql.planner.relational.binder.queries import QueryBinder
from streamsql.planner.relational.decorrelation import decorrelated
from streamsql.planner.relational.dialect import for_spark
from streamsql.planner.relational.expressions import Ids
from streamsql.planner.relational.keys import best
from streamsql.planner.relational.rules import optimized
from streamsql.planner.relational.rules.temporal import with_temporal_filters


def plan_view(query: nodes.Query, catalog: Catalog) -> RelationalPlan:
    """The plan of a materialized view's query, with expressions for Spark."""
    plan = plan_query(query, catalog)
    return for_spark(replace(plan, root=with_temporal_filters(plan.root), order=()))


def plan_relational_pull(query: nodes.Query, catalog: Catalog) -> RelationalPlan:
    """The plan of a SELECT that is evaluated once, with expressions for Spark."""
    return for_spark(plan_query(query, catalog))


def plan_query(query: nodes.Query, catalog: Catalog) -> RelationalPlan:
    """The plan of a query; its expressions have PostgreSQL's meaning."""
    ids = Ids()
    bound = QueryBinder(catalog, ids).bind(query)
    root = optimized(decorrelated(bound.relation, ids), bound)
    return RelationalPlan(root, bound.fields, best(root, bound.fields), bound.order)

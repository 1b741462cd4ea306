"""Plans of relational queries."""

from __future__ import annotations

from streamsql import nodes
from streamsql.catalog import Catalog
from streamsql.planner.relational.algebra import RelationalPlan
from streamsql.planner.relational.binder.queries import QueryBinder
from streamsql.planner.relational.decorrelation import decorrelated
from streamsql.planner.relational.expressions import Ids
from streamsql.planner.relational.keys import best
from streamsql.planner.relational.rules import optimized


def plan_query(query: nodes.Query, catalog: Catalog) -> RelationalPlan:
    """The plan of a query with the standard's meaning; its expressions are PostgreSQL's."""
    ids = Ids()
    bound = QueryBinder(catalog, ids).bind(query)
    root = optimized(decorrelated(bound.relation, ids), bound)
    return RelationalPlan(root, bound.fields, best(root, bound.fields), bound.order)

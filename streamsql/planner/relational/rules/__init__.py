"""Rewrites of relations, each of which keeps their meaning."""

from __future__ import annotations

from streamsql.planner.relational.algebra import Relation
from streamsql.planner.relational.binder.scopes import Bound
from streamsql.planner.relational.expressions import ids_in
from streamsql.planner.relational.rules.projections import merged
from streamsql.planner.relational.rules.pruning import pruned
from streamsql.planner.relational.rules.pushdown import pushed
from streamsql.planner.relational.rules.sharing import shared


def optimized(relation: Relation, result: Bound) -> Relation:
    """The relation after all rules; `result` says which fields are read of it."""
    needed = {field.id for field in result.fields} | ids_in(*result.order)
    return shared(merged(pruned(pushed(merged(relation)), needed)))

"""TERMINATE, PAUSE and RESUME."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.catalog import Catalog, Thing
from streamsql.errors import BindError, Span, did_you_mean
from streamsql.nodes import (
    ControlQuery,
    QueryAction,
)
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import apply, plan_statement
from streamsql.planner.plans.statements import Planned


@dataclass(frozen=True)
class ControlPlan(Planned):
    """TERMINATE, PAUSE or RESUME of persistent queries."""

    action: QueryAction
    query_ids: tuple[str, ...]

    @property
    def ends(self) -> tuple[Thing, ...]:
        gone = self.query_ids if self.action is QueryAction.TERMINATE else ()
        return tuple(("query", query_id) for query_id in gone)


def plan_control(statement: ControlQuery, catalog: Catalog) -> ControlPlan:
    """TERMINATE, PAUSE and RESUME."""
    if statement.query_id is None:
        return ControlPlan(statement.action, tuple(catalog.queries))
    check_runs(statement.query_id, catalog, statement.span)
    return ControlPlan(statement.action, (statement.query_id,))


def check_runs(query_id: str, catalog: Catalog, span: Span | None) -> None:
    """BindError where no persistent query has the id."""
    if query_id not in catalog.queries:
        raise BindError(
            f"Unknown queryId: {query_id}",
            hint=did_you_mean(query_id, catalog.queries) or "SHOW QUERIES lists them.",
            span=span,
        )


@plan_statement.register
def _(statement: ControlQuery, planning: Planning) -> ControlPlan:
    return plan_control(statement, planning.catalog)


@apply.register
def _(planned: ControlPlan, catalog: Catalog) -> None:
    if planned.action is QueryAction.TERMINATE:
        for query_id in planned.query_ids:
            catalog.queries.pop(query_id, None)

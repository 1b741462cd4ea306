"""TERMINATE, PAUSE and RESUME of queries, and DROP of sinks, which are queries."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.catalog import Catalog, Thing
from streamsql.errors import BindError, CatalogError, Span, did_you_mean
from streamsql.nodes import ControlQuery, DropSink, QueryAction
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import apply, plan_statement
from streamsql.planner.plans.statements import NothingToDo, Planned


@dataclass(frozen=True)
class ControlPlan(Planned):
    """TERMINATE, PAUSE or RESUME of persistent queries."""

    action: QueryAction
    query_ids: tuple[str, ...]
    sinks: tuple[str, ...] = ()
    """Sinks that end with their queries."""

    @property
    def ends(self) -> tuple[Thing, ...]:
        gone = self.query_ids if self.action is QueryAction.TERMINATE else ()
        sinks = (("sink", name) for name in self.sinks)
        return (*sinks, *(("query", query_id) for query_id in gone))


def plan_control(statement: ControlQuery, catalog: Catalog) -> ControlPlan:
    """TERMINATE, PAUSE and RESUME."""
    query_ids = tuple(catalog.queries)
    if statement.query_id is not None:
        check_runs(statement.query_id, catalog, statement.span)
        query_ids = (statement.query_id,)
    ends = statement.action is QueryAction.TERMINATE
    sinks = tuple(s.name for s in catalog.sinks.values() if ends and s.query_id in query_ids)
    return ControlPlan(statement.action, query_ids, sinks)


def plan_drop_sink(statement: DropSink, catalog: Catalog) -> ControlPlan | NothingToDo:
    """DROP SINK: ends its query and keeps what it has written."""
    sink = catalog.sinks.get(statement.name)
    if sink is not None:
        return ControlPlan(QueryAction.TERMINATE, (sink.query_id,), (sink.name,))
    if statement.name in catalog.sources:
        kind = catalog.sources[statement.name].kind.value
        raise CatalogError(
            f"Incompatible data source type is {kind}, but statement was DROP SINK",
            hint=f"Write DROP {kind} {statement.name}.",
            span=statement.span,
        )
    message = f"Sink {statement.name} does not exist."
    if statement.if_exists:
        return NothingToDo(message)
    raise unknown_sink(statement.name, catalog, statement.span)


def unknown_sink(name: str, catalog: Catalog, span: Span | None) -> CatalogError:
    return CatalogError(
        f"Sink {name} does not exist.",
        hint=did_you_mean(name, catalog.sinks) or "SHOW SINKS lists the sinks.",
        span=span,
    )


def check_runs(query_id: str, catalog: Catalog, span: Span | None) -> None:
    """BindError for the id of no persistent query."""
    if query_id not in catalog.queries:
        raise BindError(
            f"Unknown queryId: {query_id}",
            hint=did_you_mean(query_id, catalog.queries) or "SHOW QUERIES lists them.",
            span=span,
        )


@plan_statement.register
def _(statement: ControlQuery, planning: Planning) -> ControlPlan:
    return plan_control(statement, planning.catalog)


@plan_statement.register
def _(statement: DropSink, planning: Planning) -> ControlPlan | NothingToDo:
    return plan_drop_sink(statement, planning.catalog)


@apply.register
def _(planned: ControlPlan, catalog: Catalog) -> None:
    if planned.action is QueryAction.TERMINATE:
        for query_id in planned.query_ids:
            catalog.queries.pop(query_id, None)
    for name in planned.sinks:
        catalog.sinks.pop(name, None)

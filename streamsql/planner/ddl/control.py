"""TERMINATE, PAUSE and RESUME of queries, and DROP of sinks, which are queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streamsql.catalog import Catalog, ExternalSink, Thing
from streamsql.errors import BindError, CatalogError, Span, did_you_mean
from streamsql.nodes import ControlQuery, DropSink, QueryAction
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import apply, plan_statement
from streamsql.planner.plans.statements import NothingToDo, Planned
from streamsql.types import quote


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
    sinks: tuple[str, ...] = ()
    if statement.action is QueryAction.TERMINATE:
        every = statement.query_id is None
        ended = [s for s in catalog.sinks.values() if every or s.query_id in query_ids]
        if not every:
            _check_alone(ended, statement.span)
        sinks = tuple(sink.name for sink in ended)
    return ControlPlan(statement.action, query_ids, sinks)


def _check_alone(sinks: Iterable[ExternalSink], span: Span | None) -> None:
    """CatalogError for one that would be created again."""
    for sink in sinks:
        if sink.part_of:
            raise CatalogError(
                f"Sink {sink.name} is a part of the sink {sink.part_of}, which writes all tables.",
                hint=f"PAUSE {sink.query_id}; stops it. DROP SINK {quote(sink.part_of)}; ends all.",
                span=span,
            )


def plan_drop_sink(statement: DropSink, catalog: Catalog) -> ControlPlan | NothingToDo:
    """DROP SINK: ends its query and keeps what it has written. With a sink of all tables, its parts
    end."""
    sink = catalog.sinks.get(statement.name)
    if sink is not None and sink.of_all:
        parts = [part for part in catalog.sinks.values() if part.part_of == sink.name]
        queries = tuple(part.query_id for part in parts)
        names = (*(part.name for part in parts), sink.name)
        return ControlPlan(QueryAction.TERMINATE, queries, names)
    if sink is not None:
        _check_alone([sink], statement.span)
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

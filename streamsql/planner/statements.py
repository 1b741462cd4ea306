"""One statement: its effect (`plan`), and the resulting catalog (`apply`). Used by check, EXPLAIN
and execution, without Kafka or Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

from streamsql import nodes
from streamsql.catalog import Catalog, QueryLinks
from streamsql.errors import PlanError, Span, StreamSQLError
from streamsql.functions.user import using
from streamsql.ksqldb import says
from streamsql.planner import ddl
from streamsql.planner.changes.keyed import keyed
from streamsql.planner.create_sink import plan_create_sink
from streamsql.planner.ddl.drops import check_not_a_sink
from streamsql.planner.ddl.row_changes import RowsPlan, plan_inserted_rows, table_of_rows
from streamsql.planner.ddl.sources import plan_create_source
from streamsql.planner.ddl.user_functions import functions_of
from streamsql.planner.ddl.views import check_not_a_view
from streamsql.planner.explain.plan import explain
from streamsql.planner.explain.pull import explain_pull
from streamsql.planner.internal_topics import check_topics
from streamsql.planner.not_run import NOT_RUN, not_run
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import apply, plan_statement
from streamsql.planner.plans.statements import (
    ExplainPlan,
    ExplainQueryPlan,
    NothingToDo,
    OtherPlan,
    Planned,
    PullPlan,
    QueryStatementPlan,
    SchemaLookup,
    SourcePlan,
    TopicLookup,
)
from streamsql.planner.queries import plan_create_as, plan_insert_into, plan_select
from streamsql.planner.sinks_of_all import SinkOfAllPlan, plan_sink_of_all
from streamsql.planner.with_clause.query_ids import number_of

__all__ = ["FAMILIES", "apply", "plan"]

FAMILIES = tuple(import_module(f"{ddl.__name__}.{m.name}") for m in iter_modules(ddl.__path__))
"""Other modules with statements for `plan`: all of planner/ddl."""


def plan(
    statement: nodes.Statement,
    catalog: Catalog,
    properties: Mapping[str, str],
    topics: TopicLookup | None = None,
    query_id: str | None = None,
    schemas: SchemaLookup | None = None,
    *,
    rebuilds: bool = False,
    replaces: bool = False,
    logged: bool = False,
) -> Planned:
    """Plans a statement without changing the catalog. `properties` are the session's, by canonical
    names. Without `topics` the existence of topics is not checked (check); likewise `schemas` and
    the registry. `query_id` sets the id of a persistent query; one that `rebuilds` need not resume
    from its predecessor, and an INSERT INTO .. SELECT that `replaces` takes the place of that
    query. `logged`: the statement comes from the log, possibly of a version with fewer checks.
    Raises a StreamSQLError with its position for an invalid statement."""
    try:
        with using(functions_of(catalog)):
            planning = Planning(
                catalog, properties, topics, query_id, schemas, rebuilds, replaces, logged
            )
            planned = plan_statement(statement, planning)
            if not logged:
                check_topics(statement, planned)
            return planned
    except StreamSQLError as error:
        error.span = _pointed(error.span or statement.span, statement)
        raise


def _pointed(span: Span | None, statement: nodes.Statement) -> Span | None:
    """Of a whole statement or query only its first word: a long underline points at nothing."""
    inner = statement.statement if isinstance(statement, nodes.Explain) else None
    query = getattr(inner or statement, "query", None)
    wholes = (statement.span, getattr(inner, "span", None), getattr(query, "span", None))
    if span is None or statement.span is None or span not in wholes:
        return span
    words = statement.text[span.start - statement.span.start :].split(maxsplit=1)
    return replace(span, end=span.start + len(words[0])) if words else span


@plan_statement.register
def _(statement: nodes.CreateSource, planning: Planning) -> SourcePlan | NothingToDo:
    check_not_a_view(statement.name, planning.catalog, statement.span)
    check_not_a_sink(statement.name, planning.catalog, statement.span)
    return plan_create_source(
        statement, planning.catalog, planning.session, planning.topics, planning.schemas
    )


@plan_statement.register
def _(
    statement: nodes.CreateAsSelect, planning: Planning
) -> QueryStatementPlan | SourcePlan | NothingToDo:
    check_not_a_view(statement.name, planning.catalog, statement.span)
    check_not_a_sink(statement.name, planning.catalog, statement.span)
    if (table := table_of_rows(statement, planning)) is None:
        return plan_create_as(statement, planning)
    return plan_create_source(
        table, planning.catalog, planning.session, planning.topics, planning.schemas
    )


@plan_statement.register
def _(statement: nodes.InsertInto, planning: Planning) -> QueryStatementPlan | RowsPlan:
    target = planning.catalog.sources.get(statement.target)
    if target is not None and target.is_plain:
        return plan_inserted_rows(statement, planning)
    return plan_insert_into(statement, planning)


@plan_statement.register
def _(statement: nodes.CreateSink, planning: Planning) -> QueryStatementPlan | NothingToDo:
    check_not_a_view(statement.name, planning.catalog, statement.span)
    return plan_create_sink(statement, planning)


@plan_statement.register
def _(statement: nodes.CreateSinkOfAll, planning: Planning) -> SinkOfAllPlan | NothingToDo:
    check_not_a_view(statement.name, planning.catalog, statement.span)
    return plan_sink_of_all(statement, planning)


@plan_statement.register
def _(statement: nodes.SelectQuery, planning: Planning) -> QueryStatementPlan | PullPlan:
    return plan_select(statement, planning)


@plan_statement.register
def _(statement: nodes.Explain, planning: Planning) -> Planned:
    if statement.statement is None:
        return ExplainQueryPlan(statement.query_id or "", statement.verbose)
    planned = plan_statement(statement.statement, planning)
    if isinstance(planned, PullPlan):
        return ExplainPlan(explain_pull(planned, verbose=statement.verbose))
    if not isinstance(planned, QueryStatementPlan):
        raise PlanError(
            "The provided statement does not run a query",
            hint="EXPLAIN takes a SELECT, CREATE .. AS SELECT, INSERT INTO .. SELECT, CREATE SINK "
            "or the id of a running query.",
            ksqldb=says("explained-statement"),
        )
    check_topics(statement.statement, planned)
    text = explain(planned.query, verbose=statement.verbose)
    return ExplainPlan(f"{text}\n\nWarning: {planned.warning}" if planned.warning else text)


@plan_statement.register
def _(statement: nodes.Describe, planning: Planning) -> Planned:
    if statement.name not in planning.catalog.views:
        planning.catalog.get(statement.name)
    return OtherPlan(statement)


def _unsupported(statement: nodes.Statement, planning: Planning) -> Planned:
    raise not_run(statement)


for _statement in NOT_RUN:
    plan_statement.register(_statement, _unsupported)


# -- the catalog afterwards ----------------------------------------------------------------------


@apply.register
def _(planned: SourcePlan, catalog: Catalog) -> None:
    catalog.put(planned.source)


@apply.register
def _(planned: SinkOfAllPlan, catalog: Catalog) -> None:
    catalog.sinks[planned.sink.name] = planned.sink


@apply.register
def _(planned: QueryStatementPlan, catalog: Catalog) -> None:
    query = planned.query
    if planned.writes is None or query.query_id is None:
        return
    if planned.sink is not None and planned.creates_sink:
        catalog.put(planned.sink)
    if planned.external is not None:
        catalog.sinks[planned.external.name] = planned.external
    keys = keyed(query.root)
    catalog.queries[query.query_id] = QueryLinks(
        query.query_id, query.reads, planned.writes, keys.taken, keys.handed_on
    )
    catalog.next_query = max(catalog.next_query, number_of(query.query_id)) + 1

"""One statement: what it will do (`plan`), and the catalog after it (`apply`).

The one path for check, EXPLAIN and execution; nothing here touches Kafka or Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import singledispatch

from streamsql import nodes
from streamsql.catalog import Catalog, QueryLinks
from streamsql.errors import PlanError, Span, StreamSQLError
from streamsql.functions.user import using
from streamsql.planner.ddl.definitions import (
    plan_alter,
    plan_control,
    plan_create_type,
    plan_drop_type,
)
from streamsql.planner.ddl.drops import plan_drop, plan_drop_view
from streamsql.planner.ddl.inserts import plan_insert_values
from streamsql.planner.ddl.sources import plan_create_source
from streamsql.planner.ddl.user_functions import (
    functions_of,
    plan_create_function,
    plan_drop_function,
)
from streamsql.planner.ddl.views import check_not_a_view, plan_create_view
from streamsql.planner.explain.plan import explain
from streamsql.planner.explain.pull import explain_pull
from streamsql.planner.not_run import NOT_RUN, not_run
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.statements import (
    AlterPlan,
    ControlPlan,
    DropPlan,
    ExplainPlan,
    ExplainQueryPlan,
    FunctionPlan,
    OtherPlan,
    Planned,
    PropertyPlan,
    PullPlan,
    QueryStatementPlan,
    SchemaLookup,
    SourcePlan,
    TopicLookup,
    TypePlan,
    ViewPlan,
)
from streamsql.planner.queries import (
    plan_create_as,
    plan_insert_into,
    plan_select,
)
from streamsql.planner.with_clause.query_ids import number_of
from streamsql.properties import resolve, validate


def plan(
    statement: nodes.Statement,
    catalog: Catalog,
    properties: Mapping[str, str],
    topics: TopicLookup | None = None,
    query_id: str | None = None,
    schemas: SchemaLookup | None = None,
) -> Planned:
    """What the statement will do; the catalog is only read.

    `properties` are the session's, by canonical names. `topics` None: whether topics exist is not
    asked (check); so with `schemas` and a schema registry. `query_id` forces the id of a
    persistent query. Raises a StreamSQLError, with its place in the statement's text, for whatever
    cannot be done.
    """
    try:
        with using(functions_of(catalog)):
            return _plan(statement, Planning(catalog, properties, topics, query_id, schemas))
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


@singledispatch
def _plan(statement: nodes.Statement, planning: Planning) -> Planned:
    return OtherPlan(statement)


@_plan.register
def _(statement: nodes.CreateSource, planning: Planning) -> Planned:
    check_not_a_view(statement.name, planning.catalog, statement.span)
    return plan_create_source(
        statement, planning.catalog, planning.session, planning.topics, planning.schemas
    )


@_plan.register
def _(statement: nodes.CreateAsSelect, planning: Planning) -> Planned:
    check_not_a_view(statement.name, planning.catalog, statement.span)
    return plan_create_as(statement, planning)


@_plan.register
def _(statement: nodes.InsertInto, planning: Planning) -> Planned:
    return plan_insert_into(statement, planning)


@_plan.register
def _(statement: nodes.SelectQuery, planning: Planning) -> Planned:
    return plan_select(statement, planning)


@_plan.register
def _(statement: nodes.InsertValues, planning: Planning) -> Planned:
    return plan_insert_values(statement, planning.catalog, planning.session)


@_plan.register
def _(statement: nodes.DropSource, planning: Planning) -> Planned:
    return plan_drop(statement, planning.catalog)


@_plan.register
def _(statement: nodes.CreateView, planning: Planning) -> Planned:
    return plan_create_view(statement, planning.catalog, planning.session)


@_plan.register
def _(statement: nodes.DropView, planning: Planning) -> Planned:
    return plan_drop_view(statement, planning.catalog)


@_plan.register
def _(statement: nodes.CreateFunction, planning: Planning) -> Planned:
    return plan_create_function(statement, planning.catalog, planning.session)


@_plan.register
def _(statement: nodes.DropFunction, planning: Planning) -> Planned:
    return plan_drop_function(statement, planning.catalog)


@_plan.register
def _(statement: nodes.AlterSource, planning: Planning) -> Planned:
    return plan_alter(statement, planning.catalog)


@_plan.register
def _(statement: nodes.CreateType, planning: Planning) -> Planned:
    return plan_create_type(statement, planning.catalog)


@_plan.register
def _(statement: nodes.DropType, planning: Planning) -> Planned:
    return plan_drop_type(statement, planning.catalog)


@_plan.register
def _(statement: nodes.ControlQuery, planning: Planning) -> Planned:
    return plan_control(statement, planning.catalog)


@_plan.register
def _(statement: nodes.SetProperty, planning: Planning) -> Planned:
    name, value = validate(statement.name, statement.value)
    return PropertyPlan(name, value)


@_plan.register
def _(statement: nodes.UnsetProperty, planning: Planning) -> Planned:
    return PropertyPlan(resolve(statement.name).name, None)


@_plan.register
def _(statement: nodes.Explain, planning: Planning) -> Planned:
    if statement.statement is None:
        return ExplainQueryPlan(statement.query_id or "", statement.verbose)
    planned = _plan(statement.statement, planning)
    if isinstance(planned, PullPlan):
        return ExplainPlan(explain_pull(planned, verbose=statement.verbose))
    if not isinstance(planned, QueryStatementPlan):
        raise PlanError(
            "The provided statement does not run a query",
            hint="EXPLAIN takes a SELECT, CREATE .. AS SELECT, INSERT INTO .. SELECT or the id "
            "of a running query.",
        )
    return ExplainPlan(explain(planned.query, verbose=statement.verbose))


@_plan.register
def _(statement: nodes.Describe, planning: Planning) -> Planned:
    if statement.name not in planning.catalog.views:
        planning.catalog.get(statement.name)
    return OtherPlan(statement)


def _unsupported(statement: nodes.Statement, planning: Planning) -> Planned:
    raise not_run(statement)


for _statement in NOT_RUN:
    _plan.register(_statement, _unsupported)


# -- the catalog afterwards ----------------------------------------------------------------------


@singledispatch
def apply(planned: Planned, catalog: Catalog) -> None:
    """Brings the catalog in line with a statement that was done."""


@apply.register
def _(planned: SourcePlan, catalog: Catalog) -> None:
    catalog.put(planned.source)


@apply.register
def _(planned: QueryStatementPlan, catalog: Catalog) -> None:
    query = planned.query
    if planned.sink is None or query.query_id is None:
        return
    if planned.creates_sink:
        catalog.put(planned.sink)
    catalog.queries[query.query_id] = QueryLinks(query.query_id, query.reads, planned.sink.name)
    catalog.next_query = max(catalog.next_query, number_of(query.query_id)) + 1


@apply.register
def _(planned: DropPlan, catalog: Catalog) -> None:
    for query_id in planned.terminate:
        catalog.queries.pop(query_id, None)
    for source in (planned.source, *planned.others):
        catalog.remove(source.name)
    for view in planned.views:
        del catalog.views[view]


@apply.register
def _(planned: FunctionPlan, catalog: Catalog) -> None:
    if planned.statement is None:
        catalog.functions.pop(planned.name, None)
    else:
        catalog.functions[planned.name] = planned.statement


@apply.register
def _(planned: ViewPlan, catalog: Catalog) -> None:
    if planned.view is not None:
        catalog.views[planned.name] = planned.view
        return
    for name in (planned.name, *planned.others):
        catalog.views.pop(name, None)


@apply.register
def _(planned: AlterPlan, catalog: Catalog) -> None:
    catalog.put(planned.source)


@apply.register
def _(planned: TypePlan, catalog: Catalog) -> None:
    if planned.type is None:
        catalog.types.pop(planned.name, None)
    else:
        catalog.types[planned.name] = planned.type


@apply.register
def _(planned: ControlPlan, catalog: Catalog) -> None:
    if planned.action is nodes.QueryAction.TERMINATE:
        for query_id in planned.query_ids:
            catalog.queries.pop(query_id, None)

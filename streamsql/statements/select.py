"""SELECT and PRINT: results, and result streams."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from streamsql.nodes import Print, SelectQuery
from streamsql.parser import to_sql
from streamsql.planner.plans.statements import PullPlan, QueryStatementPlan
from streamsql.results import Result, Warning
from streamsql.runtime.state import Context
from streamsql.statements.dispatch import handle
from streamsql.statements.print_topic import print_records
from streamsql.statements.pull import answer


@handle.register
def select(statement: SelectQuery, context: Context) -> Iterable[Result]:
    state = context.state
    planned = context.plan(statement)
    if isinstance(planned, PullPlan):
        return [answer(planned, context)]
    assert isinstance(planned, QueryStatementPlan)
    # A run over the existing records has no epochs.
    by_epochs = planned.query.by_epochs and state.serving.has_epochs
    plan = replace(planned.query, by_epochs=by_epochs)
    catalog = state.catalog
    topics = catalog.topics_of(plan.reads)
    properties = dict(context.session.properties)
    offsets = state.launcher.starting_offsets(topics, plan.starts, properties, by_epochs=by_epochs)
    sql = to_sql(statement) + ";"
    rows = state.pushes.start(plan, sql, plan.columns, properties, offsets)
    return [rows] if planned.warning is None else [Warning(planned.warning), rows]


@handle.register
def print_topic(statement: Print, context: Context) -> Iterable[Result]:
    """PRINT: the records of any topic, with detected formats."""
    context.plan(statement)
    client = context.state.services.kafka.get()
    registry = context.state.services.registry
    properties = context.session.properties
    return [print_records(client, statement, lambda id: registry(properties).by_id(id))]

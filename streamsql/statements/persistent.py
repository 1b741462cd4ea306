"""Queries that run until they are terminated: CREATE .. AS SELECT, INSERT INTO .., CREATE SINK."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from streamsql.nodes import AlterQuery, CreateAsSelect, CreateSink, InsertInto
from streamsql.parser import to_sql
from streamsql.planner.changes.queries import compare_queries
from streamsql.planner.ddl.alter_query import replacement, settings
from streamsql.planner.ddl.replacement import check_goes_on
from streamsql.planner.plans.statements import NothingToDo, QueryStatementPlan
from streamsql.registry.serdes import register_written
from streamsql.results import Message, Result, Warning
from streamsql.runtime.replay import define
from streamsql.runtime.state import Context
from streamsql.runtime.topics import create_topic
from streamsql.statements.dispatch import handle

OLD_RUNS = "Query {} has not stopped yet. It goes on as it was until it does."
"""Of a query whose changed plan waits for it to stop."""


@handle.register
def create_as_select(statement: CreateAsSelect, context: Context) -> Iterable[Result]:
    """CREATE STREAM | TABLE .. AS SELECT."""
    return _start(statement, context)


@handle.register
def insert_into(statement: InsertInto, context: Context) -> Iterable[Result]:
    """INSERT INTO .. SELECT."""
    return _start(statement, context)


@handle.register
def create_sink(statement: CreateSink, context: Context) -> Iterable[Result]:
    """CREATE SINK."""
    return _start(statement, context)


@handle.register
def alter_query(statement: AlterQuery, context: Context) -> Iterable[Result]:
    """ALTER QUERY .. SET: the query goes on with the settings. What is logged is the CREATE OR
    REPLACE that it comes to, with the query's properties."""
    state = context.state
    with state.lock:
        create = replacement(statement, state.catalog)
        known = state.queries.definition(statement.name).properties
        properties = {**known, **settings(statement)}
        if properties == known:
            return [Message(f"Query {statement.name} has these settings already.")]
        session = replace(context.session, properties=properties)
        _, *warnings = _start(create, replace(context, session=session))
    return [Message(f"Query {statement.name} altered.", statement.name), *warnings]


def _start(statement: CreateAsSelect | InsertInto | CreateSink, context: Context) -> list[Result]:
    state = context.state
    topics = state.topics()
    with state.lock:
        schemas = state.schemas()
        planned = context.plan(statement, topics, schemas)
        if isinstance(planned, NothingToDo):
            return [Warning(planned.warning)]
        assert isinstance(planned, QueryStatementPlan)
        query_id = planned.query.query_id
        assert query_id is not None
        properties = dict(context.session.properties)
        sql = to_sql(statement) + ";"
        sequence = state.log.next_sequence
        definition = define(sql, planned, state.catalog, properties, None, sequence)
        if planned.replaces:
            known = state.queries.definition(query_id)
            if planned.sink is not None:
                # The plan that runs, which is older than the catalog may be.
                check_goes_on(planned.sink, compare_queries(known.plan, planned.query))
            definition = replace(
                definition,
                starting_offsets=known.starting_offsets,
                generation=known.generation,
            )
        else:
            offsets = state.launcher.starting_offsets(
                definition.topics, planned.query.starts, properties
            )
            definition = replace(definition, starting_offsets=offsets)
        if planned.sink is not None:
            if planned.create_topic:
                create_topic(state.services.kafka.get(), planned.sink)
            register_written(schemas.registry, planned.sink)
        if planned.replaces:
            state.launcher.make_ready(definition)
        context.commit(
            statement,
            planned,
            topics=topics,
            schemas=schemas,
            query_id=query_id,
            offsets=definition.starting_offsets,
        )
        if planned.replaces:
            is_replaced = state.queries.replace(definition)
        else:
            state.queries.add(definition)
            is_replaced = True
    done = Message(f"Created query with ID {query_id}", query_id)
    late = None if is_replaced else OLD_RUNS.format(query_id)
    return [done, *(Warning(text) for text in (late, planned.warning) if text)]

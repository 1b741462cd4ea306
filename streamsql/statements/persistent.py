"""Queries that run until they are terminated: CREATE .. AS SELECT, INSERT INTO .., CREATE SINK."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from streamsql.catalog import Source
from streamsql.executor.queries.persistent_query import Definition
from streamsql.nodes import AlterQuery, CreateAsSelect, CreateSink, InsertInto, Statement
from streamsql.parser import to_sql
from streamsql.planner.changes.queries import compare_queries
from streamsql.planner.ddl.alter_query import check_moves, replacement, settings
from streamsql.planner.ddl.replacement import check_goes_on
from streamsql.planner.plans.state_stores import state_stores
from streamsql.planner.plans.statements import NothingToDo, QueryStatementPlan
from streamsql.properties import SHUFFLE_PARTITIONS
from streamsql.registry.lookup import RegistrySchemas
from streamsql.registry.serdes import register_written
from streamsql.results import Message, Result, Warning
from streamsql.run_script import NamedText
from streamsql.runtime.replay import define
from streamsql.runtime.state import Context, EngineState
from streamsql.runtime.topics import KafkaTopics, create_topic, grow_topic, grown_facts
from streamsql.statements.changes.apply import Files, apply_files
from streamsql.statements.changes.rebuilding import Rebuilds
from streamsql.statements.control import OLD_RUNS
from streamsql.statements.dispatch import handle


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
    """ALTER QUERY .. SET: the query goes on with the settings, if need be from state that is in
    other parts, which may take a while. What is logged is the CREATE OR REPLACE that it comes to,
    with the query's properties."""
    state = context.state
    with state.lock:
        create = replacement(statement, state.catalog)
        check_moves(statement, state.queries.definition(statement.name).plan)
        known = state.queries.definition(statement.name).properties
        properties = {**known, **settings(statement)}
        if properties == known:
            return [Message(f"Query {statement.name} has these settings already.")]
        session = replace(context.session, properties=properties)
        context = replace(context, session=session)
        moves = _moves_state(state.queries.definition(statement.name), properties)
        if not moves:
            _, *warnings = _start(create, context, goes_on=True)
    if moves:
        _, *warnings = _build_anew(create, statement.name, context)
    return [Message(f"Query {statement.name} altered.", statement.name), *warnings]


def _moves_state(known: Definition, properties: Mapping[str, str]) -> bool:
    told, was = (p.get(SHUFFLE_PARTITIONS) for p in (properties, known.properties))
    return told != was and bool(state_stores(known.plan.root))


def _start(
    statement: CreateAsSelect | InsertInto | CreateSink, context: Context, *, goes_on: bool = False
) -> list[Result]:
    """`goes_on`: what it replaces is to go on in any case, and not to be built anew."""
    state = context.state
    topics = state.topics()
    with state.lock:
        schemas = state.schemas()
        planned = context.plan(statement, topics, schemas)
        if isinstance(planned, NothingToDo):
            return [Warning(planned.warning)]
        assert isinstance(planned, QueryStatementPlan)
        query_id = planned.query.query_id
        if goes_on or query_id is None or not _is_built_anew(planned, state):
            return _started(statement, planned, topics, schemas, context)
    # The lock is free meanwhile: that may take long. What is defined by then is planned with.
    return _build_anew(statement, query_id, context)


def _is_built_anew(planned: QueryStatementPlan, state: EngineState) -> bool:
    if not planned.replaces or planned.sink is None or planned.query.query_id is None:
        return False
    # The plan that runs is older than the catalog may be.
    known = state.queries.definition(planned.query.query_id)
    return planned.rebuilds or not compare_queries(known.plan, planned.query).may_mix


def _build_anew(statement: Statement, query_id: str, context: Context) -> list[Result]:
    """As `streamsql apply` does it with this one statement, and logged as that is."""
    text = NamedText("CREATE OR REPLACE", to_sql(statement) + ";")
    # What its text had of them stands in it already.
    context = replace(context, session=replace(context.session, variables={}))
    with Rebuilds(context.state, from_what_is_left=False) as rebuilds:
        found = apply_files(Files(lambda: [text], partial=True), context, rebuilds)
    warnings = [result for result in found if isinstance(result, Warning)]
    return [Message(f"Created query with ID {query_id}", query_id), *warnings]


def _start_readers_anew(grown: Source | None, state: EngineState) -> None:
    """They see at once all partitions of a topic that has more of them now."""
    for query_id in state.catalog.readers_of_topic(grown.topic.name) if grown else ():
        state.queries.replace(state.queries.definition(query_id))


def _started(
    statement: CreateAsSelect | InsertInto | CreateSink,
    planned: QueryStatementPlan,
    topics: KafkaTopics,
    schemas: RegistrySchemas,
    context: Context,
) -> list[Result]:
    state = context.state
    query_id = planned.query.query_id
    assert query_id is not None
    properties = dict(context.session.properties)
    sql = to_sql(statement) + ";"
    sequence = state.log.next_sequence
    definition = define(sql, planned, state.catalog, properties, None, sequence)
    if planned.replaces:
        known = state.queries.definition(query_id)
        if planned.sink is not None:
            check_goes_on(planned.sink, compare_queries(known.plan, planned.query), None)
        definition = replace(
            definition, starting_offsets=known.starting_offsets, generation=known.generation
        )
        state.launcher.make_ready(definition)
    else:
        offsets = state.launcher.starting_offsets(
            definition.topics, planned.query.starts, properties
        )
        definition = replace(definition, starting_offsets=offsets)
    grown = None
    if planned.sink is not None:
        if planned.create_topic:
            create_topic(state.services.kafka.get(), planned.sink)
        register_written(schemas.registry, planned.sink)
        if grow_topic(state.services.kafka.get(), planned.sink, topics.told):
            grown = planned.sink
            topics.told = grown_facts(planned.sink, topics.told)
    context.commit(
        statement,
        planned,
        topics=topics,
        schemas=schemas,
        query_id=query_id,
        offsets=definition.starting_offsets,
    )
    is_replaced = True
    if planned.replaces:
        is_replaced = state.queries.replace(definition)
        _start_readers_anew(grown, state)
    else:
        state.queries.add(definition)
    done = Message(f"Created query with ID {query_id}", query_id)
    late = None if is_replaced else OLD_RUNS.format(query_id)
    return [done, *(Warning(text) for text in (late, planned.warning) if text)]

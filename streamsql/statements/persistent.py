"""Persistent queries: CREATE .. AS SELECT, INSERT INTO .., CREATE SINK."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from streamsql.catalog import Source
from streamsql.errors import ExternalError, StreamSQLError
from streamsql.executor.queries.definition import Definition, stuck
from streamsql.nodes import (
    AlterQuery,
    CreateAsSelect,
    CreateMaterializedView,
    CreateSink,
    CreateSource,
    DropSource,
    InsertInto,
    Statement,
)
from streamsql.parser import parse_one, to_sql
from streamsql.planner.changes.queries import compare_queries
from streamsql.planner.ddl.alter_query import check_moves, replacement, settings
from streamsql.planner.ddl.replacement import check_resumes
from streamsql.planner.operators import state_stores
from streamsql.planner.plans.statements import NothingToDo, QueryStatementPlan, SourcePlan
from streamsql.properties import SEMANTICS, SHUFFLE_PARTITIONS, get_text
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
from streamsql.statements.definitions import create, drop
from streamsql.statements.dispatch import handle
from streamsql.statements.tables.changes import change_rows
from streamsql.statements.tables.flush import await_view

_Starting = CreateAsSelect | CreateMaterializedView | InsertInto | CreateSink


@handle.register
def create_as_select(statement: CreateAsSelect, context: Context) -> Iterable[Result]:
    if get_text(context.session.properties, SEMANTICS) == "standard":
        planned = context.plan(statement)
        if isinstance(planned, NothingToDo):
            return [Warning(planned.warning)]
        if isinstance(planned, SourcePlan):
            return _filled(planned.source, statement, context)
    return _start(statement, context)


def _filled(table: Source, statement: CreateAsSelect, context: Context) -> Iterable[Result]:
    """A plain table with the rows of a query; no table if they cannot be written."""
    created = parse_one(table.statement)
    assert isinstance(created, CreateSource)
    list(create(created, context))
    try:
        return change_rows(InsertInto(table.name, statement.query, span=statement.span), context)
    except StreamSQLError:
        list(drop(DropSource(table.kind, table.name), context))
        raise


@handle.register
def create_materialized_view(
    statement: CreateMaterializedView, context: Context
) -> Iterable[Result]:
    """In a session of standard SQL it returns when the view has its rows."""
    results = _start(statement, context)
    if get_text(context.session.properties, SEMANTICS) == "standard":
        return [*results, *await_view(statement.name, context)]
    return results


@handle.register
def insert_into(statement: InsertInto, context: Context) -> Iterable[Result]:
    target = context.state.catalog.sources.get(statement.target)
    if target is not None and target.is_plain:
        return change_rows(statement, context)
    return _start(statement, context)


@handle.register
def create_sink(statement: CreateSink, context: Context) -> Iterable[Result]:
    return _start(statement, context)


@handle.register
def alter_query(statement: AlterQuery, context: Context) -> Iterable[Result]:
    """ALTER QUERY .. SET: the query continues with the settings, after a state migration if
    necessary, which can take a while. The log contains the equivalent CREATE OR REPLACE with the
    query's properties."""
    state = context.state
    with state.lock:
        create = replacement(statement, state.catalog)
        known = state.queries.definition(statement.name)
        check_moves(statement, known.plan)
        properties = {**known.properties, **settings(statement)}
    if properties == known.properties:
        return [Message(f"Query {statement.name} already has these settings.")]
    context = replace(context, session=replace(context.session, properties=properties))
    if _moves_state(known, properties):
        _, *warnings = _rebuild(create, statement.name, context)
    else:
        _, *warnings = _start(create, context, resumed=known)
    return [Message(f"Query {statement.name} altered.", statement.name), *warnings]


def _moves_state(known: Definition, properties: Mapping[str, str]) -> bool:
    told, was = (p.get(SHUFFLE_PARTITIONS) for p in (properties, known.properties))
    return told != was and bool(state_stores(known.plan.root))


def _start(
    statement: _Starting,
    context: Context,
    *,
    resumed: Definition | None = None,
) -> list[Result]:
    """`resumed`: the query that resumes from its checkpoint without a rebuild."""

    def carry(prepared: _Prepared | NothingToDo | str) -> _Prepared | NothingToDo | str:
        return _started(prepared, context) if isinstance(prepared, _Prepared) else prepared

    found = context.carry_out(lambda: _prepared(statement, context, resumed), carry)
    if isinstance(found, NothingToDo):
        return [Warning(found.warning)]
    if isinstance(found, str):
        # This can take long. Planning uses the definitions at its end.
        return _rebuild(statement, found, context)
    return _awaited(found, context)


def _needs_rebuild(planned: QueryStatementPlan, state: EngineState) -> bool:
    if not planned.replaces or planned.sink is None or planned.query.query_id is None:
        return False
    # The running plan may be older than the catalog.
    known = state.queries.definition(planned.query.query_id)
    return planned.rebuilds or not compare_queries(known.plan, planned.query).may_mix


def _rebuild(statement: Statement, query_id: str, context: Context) -> list[Result]:
    """Executed and logged as `streamsql apply` of this statement."""
    text = NamedText("CREATE OR REPLACE", to_sql(statement) + ";")
    # The text already contains them.
    context = replace(context, session=replace(context.session, variables={}))
    with Rebuilds(context.state, from_what_is_left=False) as rebuilds:
        found = apply_files(Files(lambda: [text], partial=True), context, rebuilds)
    warnings = [result for result in found if isinstance(result, Warning)]
    return [Message(f"Created query with ID {query_id}", query_id), *warnings]


@dataclass
class _Prepared:
    """A statement whose topic and schemas exist and that is ready to be carried out."""

    statement: _Starting
    planned: QueryStatementPlan
    topics: KafkaTopics
    schemas: RegistrySchemas
    definition: Definition
    """The query without its generation."""
    grown: Source | None = None
    """The sink whose topic got more partitions."""


def _prepared(
    statement: _Starting,
    context: Context,
    resumed: Definition | None,
) -> _Prepared | NothingToDo | str:
    """All access to Kafka, a registry and Spark; the id of a query to rebuild."""
    state, properties = context.state, dict(context.session.properties)
    topics, schemas = state.topics(), state.schemas()
    planned = context.plan(statement, topics, schemas)
    if isinstance(planned, NothingToDo):
        return planned
    assert isinstance(planned, QueryStatementPlan)
    query_id = planned.query.query_id
    assert query_id is not None
    if resumed is not None and state.queries.definition(query_id) is not resumed:
        raise ExternalError(f"query {query_id} was changed by another statement", retryable=True)
    if resumed is None and _needs_rebuild(planned, state):
        return query_id
    sql = to_sql(statement) + ";"
    definition = define(sql, planned, state.catalog, properties, None, state.log.next_sequence)
    if planned.replaces:
        known = state.queries.definition(query_id)
        if planned.sink is not None:
            check_resumes(planned.sink, compare_queries(known.plan, planned.query), None)
        definition = replace(
            definition, starting_offsets=known.starting_offsets, generation=known.generation
        )
        state.launcher.make_ready(definition)
    else:
        offsets = state.launcher.starting_offsets(
            definition.topics, planned.query.starts, properties
        )
        definition = replace(definition, starting_offsets=offsets)
    prepared = _Prepared(statement, planned, topics, schemas, definition)
    if planned.sink is not None:
        if planned.create_topic:
            create_topic(state.services.kafka.get(), planned.sink)
        register_written(schemas.registry, planned.sink)
        if grow_topic(state.services.kafka.get(), planned.sink, topics.facts):
            prepared.grown = planned.sink
            topics.facts = grown_facts(planned.sink, topics.facts)
    return prepared


def _started(prepared: _Prepared, context: Context) -> _Prepared:
    """Logs it and notifies the queries, without waiting. Requires the state's lock."""
    queries, planned, definition = context.state.queries, prepared.planned, prepared.definition
    if not planned.replaces:
        if definition.id in queries.known():
            raise stuck(definition.id)  # The one before it was terminated, and still runs.
        # Properties or rows may have been logged since it was prepared.
        definition = replace(definition, generation=context.state.log.next_sequence)
    context.commit(
        prepared.statement,
        planned,
        topics=prepared.topics,
        schemas=prepared.schemas,
        query_id=definition.id,
        offsets=definition.starting_offsets,
    )
    if planned.replaces:
        queries.replace(definition, waits=False)
        for query_id in _readers(prepared.grown, context):
            queries.replace(queries.definition(query_id), waits=False)
    else:
        queries.add(definition)
    return prepared


def _readers(grown: Source | None, context: Context) -> list[str]:
    """Queries that restart to read all partitions of an extended topic."""
    return list(context.state.catalog.readers_of_topic(grown.topic.name)) if grown else []


def _awaited(prepared: _Prepared, context: Context) -> list[Result]:
    """The results, after the replaced query has stopped."""
    query_id, planned = prepared.definition.id, prepared.planned
    late = None
    if planned.replaces:
        replaced = (query_id, *_readers(prepared.grown, context))
        late = query_id in context.state.queries.unsettled(*replaced)
    done = Message(f"Created query with ID {query_id}", query_id)
    said = (OLD_RUNS.format(query_id) if late else None, planned.warning)
    return [done, *(Warning(text) for text in said if text)]

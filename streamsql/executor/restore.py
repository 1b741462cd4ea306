"""Brings an engine back to where it was: replays the statement log, without Spark."""

from __future__ import annotations

from streamsql.catalog import Catalog
from streamsql.errors import InternalError, StreamSQLError
from streamsql.executor.persistent_query import Definition
from streamsql.executor.processing_log import declare
from streamsql.executor.schema_registry.lookup import RememberedSchemas
from streamsql.executor.service import claim
from streamsql.executor.state import EngineState
from streamsql.executor.statement_log import Entry, FileLog, Offsets, StatementLog
from streamsql.executor.topics import RememberedTopics
from streamsql.nodes import DefineVariable, QueryAction, Statement, UndefineVariable
from streamsql.parser import parse
from streamsql.planner.planned import (
    ControlPlan,
    DropPlan,
    OtherPlan,
    Planned,
    PropertyPlan,
    QueryStatementPlan,
)
from streamsql.planner.statements import apply, plan


def define(
    sql: str,
    planned: QueryStatementPlan,
    catalog: Catalog,
    properties: dict[str, str],
    offsets: Offsets | None,
) -> Definition:
    """The query of a CREATE .. AS SELECT or INSERT INTO, as the query manager wants it."""
    query = planned.query
    assert query.query_id is not None and planned.sink is not None
    topics = tuple(dict.fromkeys(catalog.get(name).topic.name for name in query.reads))
    return Definition(query.query_id, sql, query, planned.sink.name, topics, properties, offsets)


def restore(state: EngineState) -> StatementLog:
    """Replay the log into the state's catalog, session and queries; the log to go on with."""
    declare(state.catalog)
    if state.config.service_id is not None:
        return _restore_service(state, state.config.service_id)
    log = FileLog(state.data.statements)
    try:
        replay = Replay(state)
        for entry in log.entries:
            replay.run(entry)
    except BaseException:
        log.close()
        raise
    state.catalog = replay.catalog
    # What a crash in the midst of TERMINATE has left.
    state.queries.remove_leftovers()
    return log


def _restore_service(state: EngineState, service_id: str) -> StatementLog:
    """All that is in the topic now; what comes later, and whether we lead, is for Succession."""
    from streamsql.executor.command_log import CommandLog
    from streamsql.executor.succession import Succession

    state.queries.lead(False)
    log = CommandLog(state.services.kafka.get(), service_id)
    try:
        claim(state.config, state.data)
        state.succession = Succession(state, log)
        state.succession.read_to_end()
    except BaseException:
        log.close()
        raise
    state.succession.start()
    return log


class Replay:
    """Has entries take effect again, one after the other, on a copy of the state's catalog."""

    def __init__(self, state: EngineState) -> None:
        self.session = state.session
        self.queries = state.queries
        self.catalog = state.catalog.copy()

    def run(self, entry: Entry) -> Planned:
        """InternalError for one that cannot be planned any more."""
        statement, planned = plan_again(entry, self.catalog)
        self._effect(entry, statement, planned)
        apply(planned, self.catalog)
        return planned

    def _effect(self, entry: Entry, statement: Statement, planned: Planned) -> None:
        """What the statement does besides changing the catalog."""
        match planned:
            case QueryStatementPlan():
                definition = define(
                    entry.sql, planned, self.catalog, dict(entry.properties), entry.offsets
                )
                if planned.replaces:
                    self.queries.replace(definition)
                else:
                    self.queries.add(definition)
            case DropPlan():
                for query_id in planned.terminate:
                    self.queries.terminate(query_id)
            case ControlPlan():
                for query_id in planned.query_ids:
                    self._control(planned.action, query_id)
            case PropertyPlan():
                if planned.value is None:
                    self.session.properties.pop(planned.name, None)
                else:
                    self.session.properties[planned.name] = planned.value
            case OtherPlan():
                self._variable(statement)

    def _control(self, action: QueryAction, query_id: str) -> None:
        match action:
            case QueryAction.TERMINATE:
                self.queries.terminate(query_id)
            case QueryAction.PAUSE:
                self.queries.pause(query_id)
            case QueryAction.RESUME:
                self.queries.resume(query_id)

    def _variable(self, statement: Statement) -> None:
        match statement:
            case DefineVariable():
                self.session.variables[statement.name.upper()] = statement.value
            case UndefineVariable():
                self.session.variables.pop(statement.name.upper(), None)


def plan_again(entry: Entry, catalog: Catalog) -> tuple[Statement, Planned]:
    """What an entry did, without Kafka; InternalError for one that cannot be planned any more."""
    try:
        (statement,) = parse(entry.sql)
        planned = plan(
            statement,
            catalog,
            entry.properties,
            RememberedTopics(entry.topics),
            query_id=entry.query_id,
            schemas=RememberedSchemas(entry.schemas),
        )
    except StreamSQLError as error:
        raise InternalError(
            f"cannot replay entry {entry.sequence} of the statement log: {error.message}",
            detail=f"Statement: {entry.sql}\nIt was written by streamsql {entry.version}.",
            hint="Go back to that version, or start afresh in another data folder.",
        ) from error
    return statement, planned

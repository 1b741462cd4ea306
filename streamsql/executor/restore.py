"""Brings an engine back to where it was: replays the statement log, without Kafka or Spark."""

from __future__ import annotations

from dataclasses import dataclass, field

from streamsql.catalog import Catalog
from streamsql.errors import InternalError, StreamSQLError
from streamsql.executor import checkpoint
from streamsql.executor.persistent_query import Definition
from streamsql.executor.processing_log import declare
from streamsql.executor.schema_registry.lookup import RememberedSchemas
from streamsql.executor.state import EngineState
from streamsql.executor.statement_log import Entry, Offsets, StatementLog
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
from streamsql.session import Session


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
    log = StatementLog(state.data.statements)
    replay = _Replay(state.session)
    try:
        declare(replay.catalog)
        for entry in log.entries:
            replay.run(entry)
    except BaseException:
        log.close()
        raise
    state.catalog = replay.catalog
    # What a crash in the midst of TERMINATE has left.
    for folder in state.data.checkpoints.iterdir():
        if folder.name not in replay.queries:
            checkpoint.remove(folder)
    for definition in replay.queries.values():
        state.queries.add(definition, paused=definition.id in replay.paused)
    return log


@dataclass
class _Replay:
    session: Session
    catalog: Catalog = field(default_factory=Catalog)
    queries: dict[str, Definition] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)

    def run(self, entry: Entry) -> None:
        try:
            (statement,) = parse(entry.sql)
            planned = plan(
                statement,
                self.catalog,
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
        self._effect(entry, statement, planned)
        apply(planned, self.catalog)

    def _effect(self, entry: Entry, statement: Statement, planned: Planned) -> None:
        """What the statement does besides changing the catalog."""
        match planned:
            case QueryStatementPlan():
                definition = define(
                    entry.sql, planned, self.catalog, dict(entry.properties), entry.offsets
                )
                self.queries[definition.id] = definition
            case DropPlan():
                for query_id in planned.terminate:
                    self._terminate(query_id)
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
                self._terminate(query_id)
            case QueryAction.PAUSE:
                self.paused.add(query_id)
            case QueryAction.RESUME:
                self.paused.discard(query_id)

    def _terminate(self, query_id: str) -> None:
        self.queries.pop(query_id, None)
        self.paused.discard(query_id)

    def _variable(self, statement: Statement) -> None:
        match statement:
            case DefineVariable():
                self.session.variables[statement.name.upper()] = statement.value
            case UndefineVariable():
                self.session.variables.pop(statement.name.upper(), None)

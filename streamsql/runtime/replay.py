"""Folds the entries of a statement log into a catalog, a session and queries. Pure and repeatable;
restore.py applies the result to an engine."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from streamsql.catalog import Catalog, Source
from streamsql.errors import ExternalError, InternalError, StreamSQLError
from streamsql.executor.queries.definition import Definition, KnownQuery
from streamsql.log.entries import Entry, Offsets
from streamsql.nodes import DefineVariable, QueryAction, Statement, UndefineVariable
from streamsql.parser import parse
from streamsql.planner.ddl.control import ControlPlan
from streamsql.planner.ddl.drops import DropPlan
from streamsql.planner.ddl.session import PropertyPlan
from streamsql.planner.plans.statements import OtherPlan, Planned, QueryStatementPlan, SourcePlan
from streamsql.planner.recorded_topics import RememberedTopics
from streamsql.planner.statements import apply, plan
from streamsql.registry.lookup import RememberedSchemas


@dataclass(frozen=True)
class Deletion:
    """A topic that DROP .. DELETE TOPIC deletes."""

    source: Source
    """The source that used the topic."""
    topic_id: str
    """Kafka's id of the topic: a recreated topic has another one."""


@dataclass
class Replay:
    """The result of the entries so far, changed in place."""

    catalog: Catalog
    properties: dict[str, str] = field(default_factory=dict)
    """SET properties of the engine's own session; so are `variables`."""
    variables: dict[str, str] = field(default_factory=dict)
    queries: dict[str, KnownQuery] = field(default_factory=dict)
    """By id, in order of creation."""
    deletions: dict[str, Deletion] = field(default_factory=dict)
    """By topic name; only Kafka knows whether they are done."""

    def copy(self) -> Replay:
        """An independent replay that continues from here."""
        return Replay(
            self.catalog.copy(),
            dict(self.properties),
            dict(self.variables),
            dict(self.queries),
            dict(self.deletions),
        )

    def add(self, entry: Entry) -> tuple[Statement, Planned] | None:
        """Applies a statement's entry; returns its effects, None for a row. Raises InternalError if
        it can no longer be planned."""
        if entry.is_row:
            return None
        statement, planned = plan_again(entry, self.catalog)
        match planned:
            case QueryStatementPlan():
                self._put(entry, planned)
            case DropPlan(terminate=query_ids):
                self._control(QueryAction.TERMINATE, query_ids)
            case ControlPlan(action=action, query_ids=query_ids):
                self._control(action, query_ids)
            case PropertyPlan(name=name, value=None):
                self.properties.pop(name, None)
            case PropertyPlan(name=name, value=str(value)):
                self.properties[name] = value
            case OtherPlan():
                self._variable(statement)
        note_deletions(planned, entry.deletes, self.deletions)
        apply(planned, self.catalog)
        return statement, planned

    def _put(self, entry: Entry, planned: QueryStatementPlan) -> None:
        properties = dict(entry.properties)
        definition = define(
            entry.sql, planned, self.catalog, properties, entry.offsets, entry.sequence
        )
        if planned.replaces:
            known = self.queries[definition.id]
            if not entry.rebuilds:
                definition = replace(definition, generation=known.definition.generation)
            self.queries[definition.id] = replace(known, definition=definition)
        else:
            self.queries[definition.id] = KnownQuery(definition)

    def _control(self, action: QueryAction, query_ids: Iterable[str]) -> None:
        for query_id in query_ids:
            known = self.queries[query_id]
            if action is QueryAction.TERMINATE:
                del self.queries[query_id]
            else:
                self.queries[query_id] = replace(known, paused=action is QueryAction.PAUSE)

    def _variable(self, statement: Statement) -> None:
        match statement:
            case DefineVariable():
                self.variables[statement.name.upper()] = statement.value
            case UndefineVariable():
                self.variables.pop(statement.name.upper(), None)


def note_deletions(
    planned: Planned, topic_ids: Mapping[str, str], deletions: dict[str, Deletion]
) -> None:
    """Adds the topic that a statement deletes, and removes one that it uses again."""
    match planned:
        case DropPlan(source=source):
            if (topic_id := topic_ids.get(source.topic.name)) is not None:
                deletions[source.topic.name] = Deletion(source, topic_id)
        case SourcePlan(source=source) | QueryStatementPlan(sink=Source() as source):
            deletions.pop(source.topic.name, None)


def check_not_deleted(planned: Planned, deleting: Collection[str]) -> None:
    """Raises ExternalError if a statement uses a topic during its deletion."""
    match planned:
        case SourcePlan(source=source) | QueryStatementPlan(sink=Source() as source):
            if source.topic.name in deleting:
                raise ExternalError(
                    f"the topic {source.topic.name} is being deleted",
                    retryable=True,
                    hint="Retry in a few seconds.",
                )


def define(
    sql: str,
    planned: QueryStatementPlan,
    catalog: Catalog,
    properties: Mapping[str, str],
    offsets: Offsets | None,
    generation: int,
) -> Definition:
    """Definition of the query of a CREATE .. AS SELECT or INSERT INTO."""
    query = planned.query
    assert query.query_id is not None and planned.writes is not None
    definition = Definition(
        query.query_id,
        sql,
        query,
        planned.writes,
        catalog.topics_of(query.reads),
        properties,
        offsets,
        generation,
    )
    # A view of constants (executor/lowering/views.py).
    if not definition.topics and definition.writes is not None:
        return replace(definition, topics=(definition.writes,))
    return definition


def plan_again(entry: Entry, catalog: Catalog) -> tuple[Statement, Planned]:
    """Plans an entry without Kafka; InternalError if that is no longer possible."""
    try:
        (statement,) = parse(entry.sql)
        planned = plan(
            statement,
            catalog,
            entry.properties,
            RememberedTopics(entry.topics),
            query_id=entry.query_id,
            schemas=RememberedSchemas(entry.schemas),
            rebuilds=entry.rebuilds,
            replaces=entry.replaces,
            logged=True,
        )
    except StreamSQLError as error:
        raise InternalError(
            f"cannot replay entry {entry.sequence} of the statement log: {error.message}",
            detail=f"Statement: {entry.sql}\nWritten by streamsql {entry.version}.",
            hint="Use that version, or start with another data folder.",
        ) from error
    return statement, planned

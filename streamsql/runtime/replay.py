"""What a statement log comes to: its entries folded, one after the other, into a catalog, a session
and queries.

Pure: nothing outside is asked or changed, so the log may be folded anywhere, as often as one likes.
Bringing an engine in line with the outcome is restore.py's business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from streamsql.catalog import Catalog, Source
from streamsql.errors import ExternalError, InternalError, StreamSQLError
from streamsql.executor.queries.persistent_query import Definition, KnownQuery
from streamsql.log.entries import Entry, Offsets
from streamsql.nodes import DefineVariable, QueryAction, Statement, UndefineVariable
from streamsql.parser import parse
from streamsql.planner.ddl.control import ControlPlan
from streamsql.planner.ddl.drops import DropPlan
from streamsql.planner.ddl.session import PropertyPlan
from streamsql.planner.plans.statements import OtherPlan, Planned, QueryStatementPlan, SourcePlan
from streamsql.planner.statements import apply, plan
from streamsql.registry.lookup import RememberedSchemas
from streamsql.runtime.topics import RememberedTopics


@dataclass(frozen=True)
class Deletion:
    """A topic that DROP .. DELETE TOPIC has promised to delete."""

    source: Source
    """Whose topic it was."""
    topic_id: str
    """The topic's in Kafka: one of the same name that was made later has another."""


@dataclass
class Replay:
    """What the entries so far come to. The fields are its own: they are changed in place."""

    catalog: Catalog
    properties: dict[str, str] = field(default_factory=dict)
    """Of the engine's own session, as `variables`."""
    variables: dict[str, str] = field(default_factory=dict)
    queries: dict[str, KnownQuery] = field(default_factory=dict)
    """By their ids, in the order of their making."""
    deletions: dict[str, Deletion] = field(default_factory=dict)
    """By the names of the topics. Whether they are done is for Kafka to say."""

    def copy(self) -> Replay:
        """A replay that goes on from here, and leaves this one as it is."""
        return Replay(
            self.catalog.copy(),
            dict(self.properties),
            dict(self.variables),
            dict(self.queries),
            dict(self.deletions),
        )

    def add(self, entry: Entry) -> tuple[Statement, Planned] | None:
        """Have the entry of one statement take effect; what it did, None for a row. InternalError
        for one that cannot be planned any more."""
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
    """Add the topic that a statement deletes, and leave out the one that it uses again."""
    match planned:
        case DropPlan(source=source):
            if (topic_id := topic_ids.get(source.topic.name)) is not None:
                deletions[source.topic.name] = Deletion(source, topic_id)
        case SourcePlan(source=source) | QueryStatementPlan(sink=Source() as source):
            deletions.pop(source.topic.name, None)


def check_not_deleted(planned: Planned, deleting: Collection[str]) -> None:
    """ExternalError where a statement uses a topic that is being deleted just now."""
    match planned:
        case SourcePlan(source=source) | QueryStatementPlan(sink=Source() as source):
            if source.topic.name in deleting:
                raise ExternalError(
                    f"the topic {source.topic.name} is being deleted",
                    retryable=True,
                    hint="Try again in some seconds.",
                )


def define(
    sql: str,
    planned: QueryStatementPlan,
    catalog: Catalog,
    properties: Mapping[str, str],
    offsets: Offsets | None,
    generation: int,
) -> Definition:
    """The query of a CREATE .. AS SELECT or INSERT INTO, as the query manager wants it."""
    query = planned.query
    assert query.query_id is not None and planned.writes is not None
    topics = catalog.topics_of(query.reads)
    return Definition(
        query.query_id, sql, query, planned.writes, topics, properties, offsets, generation
    )


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
            rebuilds=entry.rebuilds,
            replaces=entry.replaces,
            logged=True,
        )
    except StreamSQLError as error:
        raise InternalError(
            f"cannot replay entry {entry.sequence} of the statement log: {error.message}",
            detail=f"Statement: {entry.sql}\nIt was written by streamsql {entry.version}.",
            hint="Go back to that version, or start afresh in another data folder.",
        ) from error
    return statement, planned

"""What planning a statement gives: one frozen class for each kind of effect. Those that only one
family of statements has stand with it, in planner/ddl."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Protocol

from streamsql.catalog import ExternalSink, Source, Thing
from streamsql.formats.registered import SchemaText
from streamsql.nodes import CreateConnector, Expression, Print, SelectQuery, Statement
from streamsql.planner.plans.modes import topics_read
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.planner.plans.routes import Route
from streamsql.schema import Schema

_SEPARATORS = re.compile(r"[\s,;]+")


@dataclass(frozen=True)
class TopicInfo:
    """What is known of an existing topic."""

    partitions: int
    replicas: int


class TopicLookup(Protocol):
    """The planner's only view of Kafka."""

    def topic(self, name: str) -> TopicInfo | None:
        """The topic of that name, or None where there is none."""


class SchemaLookup(Protocol):
    """The planner's only view of a schema registry."""

    def schema(self, wanted: str | int) -> SchemaText | None:
        """The latest schema of a subject, or the one of an id; None where there is none."""


@dataclass(frozen=True)
class Touches:
    """What a statement reaches: topics by their names, and what lies beyond topics."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    """Topics whose records are written, or that are made or deleted."""
    beyond: bool = False
    """Whether it has the server run code, or read or write files or another system."""


class Planned:
    """The base of all that planning a statement can give."""

    @property
    def touches(self) -> Touches:
        """What running the statement reaches; nothing but the catalog and the session."""
        return Touches()

    @property
    def makes(self) -> tuple[Thing, ...]:
        """What is there afterwards as this makes it: an export keeps the statement for it."""
        return ()

    @property
    def ends(self) -> tuple[Thing, ...]:
        return ()


class CatalogChange(Planned, ABC):
    """A statement that changes the catalog and nothing else: it needs no handler of its own."""

    @property
    @abstractmethod
    def done(self) -> tuple[str, ...]:
        """What is answered, a message each."""


@dataclass(frozen=True)
class SourcePlan(Planned):
    """CREATE STREAM | TABLE."""

    source: Source
    create_topic: bool = False
    replaces: bool = False

    @property
    def touches(self) -> Touches:
        if self.source.lookup is not None:
            return Touches(beyond=True)
        topic = frozenset({self.source.topic.name})
        return Touches(writes=topic) if self.create_topic else Touches(reads=topic)

    @property
    def makes(self) -> tuple[Thing, ...]:
        return (("source", self.source.name),)


@dataclass(frozen=True)
class QueryStatementPlan(Planned):
    """A query: CREATE .. AS SELECT (`creates_sink`), INSERT INTO .. SELECT (into an existing
    sink), CREATE SINK (`external`), or a push query (no sink)."""

    query: QueryPlan
    sink: Source | None = None
    creates_sink: bool = False
    create_topic: bool = False
    replaces: bool = False
    statement: Statement | None = None
    external: ExternalSink | None = None
    """What it makes outside of Kafka."""
    warning: str | None = None
    """What whoever runs it is told besides."""
    rebuilds: bool = False
    """Whether the query that it replaces cannot go on as this one, which is built from the log."""

    @property
    def touches(self) -> Touches:
        written = frozenset() if self.sink is None else frozenset({self.sink.topic.name})
        return Touches(topics_read(self.query.root), written, beyond=self.external is not None)

    @property
    def writes(self) -> str | None:
        """The name of what the query writes; None for a push query."""
        target = self.sink or self.external
        return None if target is None else target.name

    @property
    def makes(self) -> tuple[Thing, ...]:
        if self.query.query_id is None:
            return ()
        made = (("query", self.query.query_id),)
        if self.external is not None:
            return (*made, ("sink", self.external.name))
        if self.sink is None:
            return ()
        return (*made, ("source", self.sink.name)) if self.creates_sink else made


@dataclass(frozen=True)
class ResultOrder:
    """One column of ORDER BY, by its name in the schema of the query's root."""

    column: str
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class PullPlan(Planned):
    """A pull query: SELECT without EMIT, whose answer is complete.

    The root of `query` is a Project: its rows are sorted by `order`, of those the first `limit`
    behind `offset` are the answer, and of their columns those that `schema` names. What `order`
    sorts by may be a column of the root that is not shown.
    """

    query: QueryPlan
    route: Route
    schema: Schema
    """The columns of the answer in the order of the SELECT; keys of a table are KEY columns."""
    limit: int | None = None
    order: tuple[ResultOrder, ...] = ()
    statement: SelectQuery | None = None
    offset: int = 0

    @property
    def touches(self) -> Touches:
        return Touches(topics_read(self.query.root))


@dataclass(frozen=True)
class NothingToDo(Planned):
    """IF [NOT] EXISTS made the statement a no-op; `warning` says why."""

    warning: str


@dataclass(frozen=True)
class InsertValuesPlan(Planned):
    """INSERT INTO .. VALUES: constant, typed expressions of the columns' types, in order.

    Columns that are not listed are null; `rowtime` None means now.
    """

    source: Source
    columns: tuple[str, ...]
    expressions: tuple[Expression, ...]
    rowtime: Expression | None = None
    more: tuple[InsertValuesPlan, ...] = ()
    """Those of the rows after the first."""

    @property
    def touches(self) -> Touches:
        return Touches(writes=frozenset({self.source.topic.name}))

    @property
    def rows(self) -> tuple[InsertValuesPlan, ...]:
        return (replace(self, more=()), *self.more)


@dataclass(frozen=True)
class ExplainPlan(Planned):
    """EXPLAIN of a statement: the text."""

    text: str


@dataclass(frozen=True)
class ExplainQueryPlan(Planned):
    """EXPLAIN of a running query, which the executor knows."""

    query_id: str
    verbose: bool


@dataclass(frozen=True)
class OtherPlan(Planned):
    """A statement that needs no plan: SHOW, DESCRIBE, PRINT, DEFINE, ASSERT and others."""

    statement: Statement
    warning: str | None = None

    @property
    def touches(self) -> Touches:
        match self.statement:
            case Print(topic=topic):
                return Touches(reads=frozenset({topic}))
            case CreateConnector(properties=properties):
                # Which of its properties name topics is known to the connector alone.
                words = (word for p in properties for word in _SEPARATORS.split(str(p.value)))
                return Touches(writes=frozenset(words), beyond=True)
        return Touches()

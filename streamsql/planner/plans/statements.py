"""The results of planning a statement: one frozen class for each kind of effect. Plans of a single
family of statements are in its module in planner/ddl."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Protocol

from streamsql.catalog import Capture, ExternalSink, Source, Thing
from streamsql.formats.registered import SchemaText
from streamsql.nodes import CreateConnector, Expression, Print, SelectQuery, Statement
from streamsql.planner.plans.modes import topics_read
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.planner.plans.routes import Route
from streamsql.schema import Schema

_SEPARATORS = re.compile(r"[\s,;]+")


@dataclass(frozen=True)
class TopicInfo:
    """The properties of an existing topic."""

    partitions: int
    replicas: int


class TopicLookup(Protocol):
    """The planner's only view of Kafka."""

    def topic(self, name: str) -> TopicInfo | None:
        """The topic of that name, or None."""


class SchemaLookup(Protocol):
    """The planner's only view of a schema registry."""

    def schema(self, wanted: str | int) -> SchemaText | None:
        """The latest schema of a subject, or the one of an id, or None."""

    def table(self, capture: Capture) -> SchemaText | None:
        """The columns of a database's table, as ddl/captures.py reads them; None if the database is
        not asked."""


@dataclass(frozen=True)
class Touches:
    """The objects that a statement accesses: topics by name, and whether there are others."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    """Topics whose records are written, or that are created or deleted."""
    beyond: bool = False
    """Whether the server runs code for it, or accesses files or another system."""


class Planned:
    """The base of all results of planning."""

    @property
    def touches(self) -> Touches:
        return Touches()

    @property
    def makes(self) -> tuple[Thing, ...]:
        """The objects that the statement defines: an export keeps the statement for them."""
        return ()

    @property
    def ends(self) -> tuple[Thing, ...]:
        return ()


class CatalogChange(Planned, ABC):
    """A statement that changes only the catalog: it needs no handler."""

    @property
    @abstractmethod
    def done(self) -> tuple[str, ...]:
        """The messages of the result."""


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
        if self.source.capture is not None:
            return Touches(writes=topic, beyond=True)
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
    """The target outside Kafka."""
    warning: str | None = None
    """A warning for the user."""
    rebuilds: bool = False
    """Whether the query that it replaces has incompatible state, so that this one is rebuilt."""

    @property
    def touches(self) -> Touches:
        written = frozenset() if self.sink is None else frozenset({self.sink.topic.name})
        return Touches(topics_read(self.query.root), written, beyond=self.external is not None)

    @property
    def writes(self) -> str | None:
        """The name of the query's target; None for a push query."""
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
class ReadAsOf:
    """As of when a pull query reads views: an epoch, or the newest one that had begun by a time."""

    text: str
    epoch: int | None = None
    time: PullPlan | int | None = None
    """In ms since the Unix epoch, or a query whose only value it is."""


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
    as_of: ReadAsOf | None = None

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
    """The plans of the rows after the first."""

    @property
    def touches(self) -> Touches:
        return Touches(writes=frozenset({self.source.topic.name}))

    @property
    def rows(self) -> tuple[InsertValuesPlan, ...]:
        return (replace(self, more=()), *self.more)


@dataclass(frozen=True)
class ExplainPlan(Planned):
    """EXPLAIN of a statement."""

    text: str


@dataclass(frozen=True)
class ExplainQueryPlan(Planned):
    """EXPLAIN of a running query, which the executor completes."""

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
                # Only the connector knows which of its properties name topics.
                words = (word for p in properties for word in _SEPARATORS.split(str(p.value)))
                return Touches(writes=frozenset(words), beyond=True)
        return Touches()

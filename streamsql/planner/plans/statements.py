"""What planning a statement gives: one frozen class for each kind of effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from streamsql.catalog import Source, View
from streamsql.formats.registered import SchemaText
from streamsql.nodes import CreateFunction, Expression, QueryAction, SelectQuery, Statement
from streamsql.planner.plans.logical import QueryPlan
from streamsql.planner.plans.routes import Route
from streamsql.schema import Schema
from streamsql.types import SQLType


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
class SourcePlan:
    """CREATE STREAM | TABLE."""

    source: Source
    create_topic: bool = False
    replaces: bool = False


@dataclass(frozen=True)
class QueryStatementPlan:
    """A query: CREATE .. AS SELECT (`creates_sink`), INSERT INTO .. SELECT (into an existing
    sink), or a push query (no sink)."""

    query: QueryPlan
    sink: Source | None = None
    creates_sink: bool = False
    create_topic: bool = False
    replaces: bool = False
    statement: Statement | None = None


@dataclass(frozen=True)
class ResultOrder:
    """One column of ORDER BY, by its name in the schema of the query's root."""

    column: str
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class PullPlan:
    """A pull query: SELECT without EMIT, whose answer is complete.

    The root of `query` is a Project: its rows are sorted by `order`, of those the first `limit`
    are the answer, and of their columns those that `schema` names. What `order` sorts by may be a
    column of the root that is not shown.
    """

    query: QueryPlan
    route: Route
    schema: Schema
    """The columns of the answer in the order of the SELECT; keys of a table are KEY columns."""
    limit: int | None = None
    order: tuple[ResultOrder, ...] = ()
    statement: SelectQuery | None = None


@dataclass(frozen=True)
class NothingToDo:
    """IF [NOT] EXISTS made the statement a no-op; `warning` says why."""

    warning: str


@dataclass(frozen=True)
class InsertValuesPlan:
    """INSERT INTO .. VALUES: constant, typed expressions of the columns' types, in order.

    Columns that are not listed are null; `rowtime` None means now.
    """

    source: Source
    columns: tuple[str, ...]
    expressions: tuple[Expression, ...]
    rowtime: Expression | None = None


@dataclass(frozen=True)
class DropPlan:
    """DROP STREAM | TABLE: `terminate` are the queries that end with it, `others` and `views` what
    goes with CASCADE."""

    source: Source
    delete_topic: bool
    terminate: tuple[str, ...] = ()
    others: tuple[Source, ...] = ()
    views: tuple[str, ...] = ()


@dataclass(frozen=True)
class ViewPlan:
    """CREATE VIEW, or DROP VIEW where `view` is None; `others` are views that go with it."""

    name: str
    view: View | None
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class AlterPlan:
    """ALTER .. ADD COLUMN: the source as it will be."""

    source: Source


@dataclass(frozen=True)
class TypePlan:
    """CREATE TYPE, or DROP TYPE where `type` is None."""

    name: str
    type: SQLType | None


@dataclass(frozen=True)
class FunctionPlan:
    """CREATE FUNCTION, or DROP FUNCTION where `statement` is None."""

    name: str
    statement: CreateFunction | None


@dataclass(frozen=True)
class PropertyPlan:
    """SET, or UNSET where `value` is None; the name is canonical, the value checked."""

    name: str
    value: str | None


@dataclass(frozen=True)
class ControlPlan:
    """TERMINATE, PAUSE or RESUME of persistent queries."""

    action: QueryAction
    query_ids: tuple[str, ...]


@dataclass(frozen=True)
class ExplainPlan:
    """EXPLAIN of a statement: the text."""

    text: str


@dataclass(frozen=True)
class ExplainQueryPlan:
    """EXPLAIN of a running query, which the executor knows."""

    query_id: str
    verbose: bool


@dataclass(frozen=True)
class OtherPlan:
    """A statement that needs no plan: SHOW, DESCRIBE, PRINT, DEFINE, ASSERT and others."""

    statement: Statement


Planned = (
    SourcePlan
    | QueryStatementPlan
    | PullPlan
    | NothingToDo
    | InsertValuesPlan
    | DropPlan
    | ViewPlan
    | AlterPlan
    | TypePlan
    | FunctionPlan
    | PropertyPlan
    | ControlPlan
    | ExplainPlan
    | ExplainQueryPlan
    | OtherPlan
)

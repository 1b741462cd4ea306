"""What an engine tells of itself as data: of streams and tables, views, queries and functions.

For those who show it in another form than the shell's, and know nothing of catalogs and plans.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamsql.schema import Constraint, Kind, Schema
from streamsql.status import QueryInfo, QueryMetrics


@dataclass(frozen=True)
class SourceFacts:
    """A stream or a table. `statement` is the SQL that made it."""

    name: str
    kind: Kind
    schema: Schema
    topic: str
    key_format: str | None
    """None where it has no key."""
    value_format: str
    window: str | None
    """The type of the window in its key."""
    timestamp: str | None
    """The column that gives the time of a row, if one does."""
    statement: str
    partitions: int | None
    replicas: int | None
    created_by: str | None
    """The id of the query that fills it, where one statement made both."""
    readers: tuple[str, ...]
    """Ids of the queries that read it."""
    writers: tuple[str, ...]
    viewers: tuple[str, ...]
    """Names of the views that read it."""
    built_in: bool
    """Whether it is there from the start of any engine."""
    comment: str | None = None
    constraints: tuple[Constraint, ...] = ()
    """What its records must meet, in the order in which they are looked at."""
    looked_up: str | None = None
    """Where the rows of a table are that is looked up outside of Kafka: its file or folder, or its
    database's URL. Its topic has no name."""
    looked_up_table: str | None = None
    """What it is called in that database."""


@dataclass(frozen=True)
class ViewFacts:
    """A view, and the names of the sources and views that it reads."""

    name: str
    reads: tuple[str, ...]
    statement: str


@dataclass(frozen=True)
class PlanFacts:
    """How a query is run: its columns, what it reads and, of a persistent one, writes."""

    schema: Schema
    reads: tuple[str, ...]
    sink: str | None
    window: str | None
    """The type of the window that its rows are grouped by."""


@dataclass(frozen=True)
class QueryFacts:
    """A query with all that it was made of. `properties` are the session's at the time."""

    info: QueryInfo
    plan: PlanFacts
    explanation: str
    """What EXPLAIN says of it."""
    properties: Mapping[str, str]


@dataclass(frozen=True)
class ColumnOrigin:
    """A column of a stream or table that another one comes from; how, in OpenLineage's words."""

    source: str
    column: str
    direct: bool
    """Whether its value goes into the other one; else it decides about that."""
    transformation: str


@dataclass(frozen=True)
class LineageFacts:
    """What a persistent query reads, by name, what it writes, and which columns come from which."""

    reads: tuple[str, ...]
    sink: str
    columns: Mapping[str, tuple[ColumnOrigin, ...]]
    rows: tuple[ColumnOrigin, ...]
    """What decides which rows there are."""


@dataclass(frozen=True)
class Progress:
    """How far a query is in one partition; None for what is not known."""

    topic: str
    partition: int
    start: int | None
    end: int | None
    offset: int | None


@dataclass(frozen=True)
class Read:
    """How far a query was in a source, over all partitions of its topic: `offset` grows by one with
    each record that it reads; None for what is not known."""

    source: str
    offset: int | None
    lag: int | None


@dataclass(frozen=True)
class QueryFlow:
    """A persistent query, what it reads, and what it has done; `metrics` None: it has not begun."""

    info: QueryInfo
    reads: tuple[Read, ...]
    metrics: QueryMetrics | None
    read_at: float | None
    """The moment of `reads` and of the lag in `info`, in seconds since 1970; None: not known."""


@dataclass(frozen=True)
class Topology:
    """All that there is and how records flow through it."""

    sources: tuple[SourceFacts, ...]
    views: tuple[ViewFacts, ...]
    queries: tuple[QueryFlow, ...]
    ends: Mapping[str, int]
    """By topic the records that were ever written to it; without those that are not known."""
    at: float
    """When `ends` and the queries' metrics were read, in seconds since 1970."""
    outage: str | None
    """What is wrong with Kafka just now, if something is."""


@dataclass(frozen=True)
class TopicFacts:
    """What Kafka knows of a topic."""

    partitions: int
    replicas: int


@dataclass(frozen=True)
class ParameterFacts:
    """A parameter; `type` in words, such as `MAP<K, V>`."""

    name: str
    type: str
    variadic: bool


@dataclass(frozen=True)
class SignatureFacts:
    """One of the ways to call a function."""

    parameters: tuple[ParameterFacts, ...]
    returns: str


@dataclass(frozen=True)
class FunctionFacts:
    """A function; `type` is SCALAR, AGGREGATE or TABLE."""

    name: str
    type: str
    category: str
    doc: str
    own: bool
    """Whether a user has made it."""
    signatures: tuple[SignatureFacts, ...]

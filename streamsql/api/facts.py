"""Facts about streams, tables, views, queries and functions as data, for clients that do not know
catalogs and plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamsql.schema import Constraint, Kind, Schema
from streamsql.status import QueryInfo, QueryMetrics


@dataclass(frozen=True)
class SourceFacts:
    """A stream or a table. `statement` is the SQL that created it."""

    name: str
    kind: Kind
    schema: Schema
    topic: str
    key_format: str | None
    """None without key."""
    value_format: str
    window: str | None
    """Window type of its key."""
    timestamp: str | None
    """Column of the event time, if any."""
    statement: str
    partitions: int | None
    replicas: int | None
    created_by: str | None
    """Id of the query that one statement created with it."""
    readers: tuple[str, ...]
    """Ids of its reader queries."""
    writers: tuple[str, ...]
    viewers: tuple[str, ...]
    """Names of views that read it."""
    built_in: bool
    """Whether every engine has it from the start."""
    comment: str | None = None
    constraints: tuple[Constraint, ...] = ()
    """Constraints, in order of evaluation."""
    looked_up: str | None = None
    """Location of a lookup table: its file or folder, or its database's URL. Its topic has no
    name."""
    looked_up_table: str | None = None
    """Name of the table in that database."""
    materialized: bool = False
    """Whether it is a materialized view."""


@dataclass(frozen=True)
class ViewFacts:
    """A view, and the names of its sources and views."""

    name: str
    reads: tuple[str, ...]
    statement: str


@dataclass(frozen=True)
class PlanFacts:
    """How a query runs: its columns, its sources and, for a persistent query, its sink."""

    schema: Schema
    reads: tuple[str, ...]
    sink: str | None
    window: str | None
    """Window type of its groups."""


@dataclass(frozen=True)
class QueryFacts:
    """A query and its definition. `properties` are the session's at creation."""

    info: QueryInfo
    plan: PlanFacts
    explanation: str
    """Output of EXPLAIN."""
    properties: Mapping[str, str]


@dataclass(frozen=True)
class ColumnOrigin:
    """A source column of another column, with the kind of dependency in OpenLineage's terms."""

    source: str
    column: str
    direct: bool
    """Whether it determines the value, rather than which rows exist."""
    transformation: str


@dataclass(frozen=True)
class LineageFacts:
    """Sources and sink of a persistent query by name, and its column lineage."""

    reads: tuple[str, ...]
    sink: str
    columns: Mapping[str, tuple[ColumnOrigin, ...]]
    rows: tuple[ColumnOrigin, ...]
    """Columns that determine which rows exist."""


@dataclass(frozen=True)
class Progress:
    """Progress in one partition; None is unknown."""

    topic: str
    partition: int
    start: int | None
    end: int | None
    offset: int | None


@dataclass(frozen=True)
class Read:
    """Progress in a source, over all partitions of its topic: `offset` grows by one per record
    read; None is unknown."""

    source: str
    offset: int | None
    lag: int | None


@dataclass(frozen=True)
class QueryFlow:
    """A persistent query, its sources, and its metrics; None before it has started."""

    info: QueryInfo
    reads: tuple[Read, ...]
    metrics: QueryMetrics | None
    read_at: float | None
    """Time of `reads` and of the lag in `info`, in seconds since 1970; None is unknown."""


@dataclass(frozen=True)
class ConnectorFacts:
    """A connector of the embedded worker, as it was seen last."""

    name: str
    type: str
    """source, sink or unknown."""
    class_name: str
    state: str
    """FAILED if one of its tasks has, UNKNOWN while the worker does not run."""
    topics: tuple[str, ...]


@dataclass(frozen=True)
class Topology:
    """All objects and the flow of records between them."""

    sources: tuple[SourceFacts, ...]
    views: tuple[ViewFacts, ...]
    queries: tuple[QueryFlow, ...]
    connectors: tuple[ConnectorFacts, ...]
    ends: Mapping[str, int]
    """Number of records ever written, by topic; unknown topics are absent."""
    at: float
    """Time of `ends` and the metrics, in seconds since 1970."""
    outage: str | None
    """The current Kafka outage, if any."""


@dataclass(frozen=True)
class TopicFacts:
    """Kafka's metadata of a topic."""

    partitions: int
    replicas: int


@dataclass(frozen=True)
class ParameterFacts:
    """A parameter; `type` as text, such as `MAP<K, V>`."""

    name: str
    type: str
    variadic: bool


@dataclass(frozen=True)
class SignatureFacts:
    """One signature of a function."""

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
    """Whether a user created it."""
    signatures: tuple[SignatureFacts, ...]

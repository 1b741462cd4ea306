"""All other statements: one class each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from streamsql.nodes.base import Effect, Statement
from streamsql.nodes.definition import ColumnDefinition
from streamsql.nodes.query import (
    AsOf,
    Duration,
    Expression,
    Properties,
    Query,
)
from streamsql.schema import Kind


@dataclass(frozen=True)
class SelectQuery(Statement):
    """A SELECT on its own: a push query with EMIT, else a pull query."""

    effect = Effect.READS

    query: Query
    as_of: AsOf | None = None


class ConnectorType(Enum):
    """Whether a connector writes to Kafka or reads from it."""

    SOURCE = "SOURCE"
    SINK = "SINK"


@dataclass(frozen=True)
class CreateConnector(Statement):
    """CREATE SOURCE | SINK CONNECTOR [IF NOT EXISTS] name WITH (..)."""

    effect = Effect.ACTS_OUTSIDE

    type: ConnectorType
    name: str
    properties: Properties
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropConnector(Statement):
    """DROP CONNECTOR [IF EXISTS] name."""

    effect = Effect.ACTS_OUTSIDE

    name: str
    if_exists: bool = False


class ShowWhat(Enum):
    """Subjects of SHOW (or LIST)."""

    STREAMS = "STREAMS"
    TABLES = "TABLES"
    VIEWS = "VIEWS"
    MATERIALIZED_VIEWS = "MATERIALIZED VIEWS"
    SINKS = "SINKS"
    SOURCES = "SOURCES"
    TOPICS = "TOPICS"
    ALL_TOPICS = "ALL TOPICS"
    QUERIES = "QUERIES"
    FUNCTIONS = "FUNCTIONS"
    TYPES = "TYPES"
    PROPERTIES = "PROPERTIES"
    VARIABLES = "VARIABLES"
    CONNECTORS = "CONNECTORS"
    SOURCE_CONNECTORS = "SOURCE CONNECTORS"
    SINK_CONNECTORS = "SINK CONNECTORS"
    CONNECTOR_PLUGINS = "CONNECTOR PLUGINS"


@dataclass(frozen=True)
class Show(Statement):
    """SHOW | LIST what [EXTENDED]."""

    effect = Effect.READS

    what: ShowWhat
    extended: bool = False


class LineageDirection(Enum):
    """Which way SHOW LINEAGE looks."""

    OF = "OF"
    """Source columns."""
    FROM = "FROM"
    """To what comes from it."""


@dataclass(frozen=True)
class ShowLineage(Statement):
    """SHOW | LIST LINEAGE OF | FROM name[.column]; `column` None means all."""

    effect = Effect.READS

    direction: LineageDirection
    name: str
    column: str | None = None


@dataclass(frozen=True)
class Describe(Statement):
    """DESCRIBE name [EXTENDED]."""

    effect = Effect.READS

    name: str
    extended: bool = False


@dataclass(frozen=True)
class DescribeAll(Statement):
    """DESCRIBE STREAMS | TABLES [EXTENDED]."""

    effect = Effect.READS

    kind: Kind
    extended: bool = False


@dataclass(frozen=True)
class DescribeFunction(Statement):
    """DESCRIBE FUNCTION name."""

    effect = Effect.READS

    name: str


@dataclass(frozen=True)
class DescribeConnector(Statement):
    """DESCRIBE CONNECTOR name."""

    effect = Effect.READS

    name: str


@dataclass(frozen=True)
class DescribeSink(Statement):
    """DESCRIBE SINK name."""

    effect = Effect.READS

    name: str


@dataclass(frozen=True)
class DescribeDatabase(Statement):
    """DESCRIBE SOURCE name."""

    effect = Effect.READS

    name: str


@dataclass(frozen=True)
class DescribeErrors(Statement):
    """DESCRIBE ERRORS [OF query]; `query_id` None means all that ever wrote into the log."""

    effect = Effect.READS

    query_id: str | None = None


@dataclass(frozen=True)
class Explain(Statement):
    """EXPLAIN [VERBOSE] statement | query id: one of the two is None."""

    effect = Effect.READS

    statement: Statement | None = None
    query_id: str | None = None
    verbose: bool = False


@dataclass(frozen=True)
class Print(Statement):
    """PRINT topic [FROM BEGINNING] [INTERVAL | SAMPLE n] [LIMIT n]."""

    effect = Effect.READS

    topic: str
    from_beginning: bool = False
    interval: int | None = None
    limit: int | None = None


class QueryAction(Enum):
    """Actions on a persistent query."""

    TERMINATE = "TERMINATE"
    PAUSE = "PAUSE"
    RESUME = "RESUME"


@dataclass(frozen=True)
class ControlQuery(Statement):
    """TERMINATE | PAUSE | RESUME id | ALL; `query_id` None means ALL."""

    effect = Effect.DEFINES
    changes = "query"

    action: QueryAction
    query_id: str | None = None


@dataclass(frozen=True)
class AlterQuery(Statement):
    """ALTER QUERY name SET ('name' = 'value', ..): properties, as SET has them, of one query."""

    effect = Effect.DEFINES
    changes = "query"

    name: str
    properties: Properties


@dataclass(frozen=True)
class ReplayErrors(Statement):
    """REPLAY [ALL] ERRORS OF query [WHERE ..] [DRY RUN]; the condition is on the processing log."""

    effect = Effect.WRITES

    query_id: str
    where: Expression | None = None
    all: bool = False
    dry_run: bool = False


@dataclass(frozen=True)
class VerifyQuery(Statement):
    """VERIFY QUERY id."""

    effect = Effect.READS

    query_id: str


@dataclass(frozen=True)
class SetProperty(Statement):
    """SET 'name' = 'value'."""

    effect = Effect.READS

    name: str
    value: str


@dataclass(frozen=True)
class UnsetProperty(Statement):
    """UNSET 'name'."""

    effect = Effect.READS

    name: str


@dataclass(frozen=True)
class AlterSystem(Statement):
    """ALTER SYSTEM 'name' = 'value'."""

    effect = Effect.ACTS_OUTSIDE

    name: str
    value: str


@dataclass(frozen=True)
class DefineVariable(Statement):
    """DEFINE name = 'value'."""

    effect = Effect.READS

    name: str
    value: str


@dataclass(frozen=True)
class UndefineVariable(Statement):
    """UNDEFINE name."""

    effect = Effect.READS

    name: str


@dataclass(frozen=True)
class RunScript(Statement):
    """RUN SCRIPT 'path'."""

    effect = Effect.READS

    path: str


@dataclass(frozen=True)
class AssertTopic(Statement):
    """ASSERT [NOT EXISTS] TOPIC name [WITH (..)] [TIMEOUT duration]."""

    effect = Effect.READS

    topic: str
    properties: Properties = ()
    timeout: Duration | None = None
    exists: bool = True


@dataclass(frozen=True)
class AssertSchema(Statement):
    """ASSERT [NOT EXISTS] SCHEMA [SUBJECT s] [ID n] [TIMEOUT duration]."""

    effect = Effect.READS

    subject: str | None = None
    id: int | None = None
    timeout: Duration | None = None
    exists: bool = True


@dataclass(frozen=True)
class AssertValues(Statement):
    """ASSERT VALUES source [(columns)] VALUES (..)  (test scripts only)."""

    effect = Effect.READS

    source: str
    values: tuple[Expression, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class AssertNullValues(Statement):
    """ASSERT NULL VALUES source [(columns)] KEY (..)  (test scripts only)."""

    effect = Effect.READS

    source: str
    key: tuple[Expression, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class AssertSource(Statement):
    """ASSERT STREAM | TABLE source [(columns)] [WITH (..)]  (test scripts only)."""

    effect = Effect.READS

    kind: Kind
    name: str
    columns: tuple[ColumnDefinition, ...] = ()
    properties: Properties = ()

"""Statements: one class each."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from streamsql.errors import Span
from streamsql.nodes.query import (
    Duration,
    Expression,
    Properties,
    Query,
)
from streamsql.schema import Kind
from streamsql.types import SQLType


@dataclass(frozen=True)
class Statement:
    """The base of all; `text` is the source text without `;`, `span` its place in the script."""

    text: str = field(default="", compare=False, kw_only=True)
    span: Span | None = field(default=None, compare=False, kw_only=True)


class ColumnRole(Enum):
    """What a column of CREATE is marked as."""

    VALUE = ""
    KEY = "KEY"
    PRIMARY_KEY = "PRIMARY KEY"
    HEADERS = "HEADERS"
    HEADER = "HEADER"


@dataclass(frozen=True)
class ColumnDefinition:
    """`name type [KEY | PRIMARY KEY | HEADERS | HEADER('header')]`."""

    name: str
    type: SQLType
    role: ColumnRole = ColumnRole.VALUE
    header: str | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class CreateSource(Statement):
    """CREATE [OR REPLACE] [SOURCE] STREAM | TABLE [IF NOT EXISTS] name (..) WITH (..)."""

    kind: Kind
    name: str
    columns: tuple[ColumnDefinition, ...] = ()
    properties: Properties = ()
    or_replace: bool = False
    if_not_exists: bool = False
    is_source: bool = False


@dataclass(frozen=True)
class CreateAsSelect(Statement):
    """CREATE [OR REPLACE] STREAM | TABLE [IF NOT EXISTS] name [WITH (..)] AS query."""

    kind: Kind
    name: str
    query: Query
    properties: Properties = ()
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class InsertInto(Statement):
    """INSERT INTO name [WITH (QUERY_ID='x')] query."""

    target: str
    query: Query
    properties: Properties = ()


@dataclass(frozen=True)
class InsertValues(Statement):
    """INSERT INTO name [(columns)] VALUES (expressions)."""

    target: str
    values: tuple[Expression, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class DropSource(Statement):
    kind: Kind
    name: str
    if_exists: bool = False
    delete_topic: bool = False
    cascade: bool = False
    """Whatever reads or writes it goes too."""


@dataclass(frozen=True)
class AlterSource(Statement):
    """ALTER STREAM | TABLE name ADD COLUMN name type, .."""

    kind: Kind
    name: str
    columns: tuple[ColumnDefinition, ...]


@dataclass(frozen=True)
class CreateType(Statement):
    name: str
    type: SQLType
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropType(Statement):
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class CreateView(Statement):
    """CREATE [OR REPLACE] VIEW [IF NOT EXISTS] name AS query: expanded where it is used."""

    name: str
    query: Query
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropView(Statement):
    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class Parameter:
    """`name type` of a function."""

    name: str
    type: SQLType
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class CreateFunction(Statement):
    """CREATE [OR REPLACE] [AGGREGATE] FUNCTION [IF NOT EXISTS] name (..) RETURNS type LANGUAGE
    PYTHON AS 'text'; `code` is Python text or `module:function`."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: SQLType
    code: str
    aggregate: bool = False
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropFunction(Statement):
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class SelectQuery(Statement):
    """A SELECT on its own: a push query with EMIT, else a pull query."""

    query: Query


class ConnectorType(Enum):
    SOURCE = "SOURCE"
    SINK = "SINK"


@dataclass(frozen=True)
class CreateConnector(Statement):
    type: ConnectorType
    name: str
    properties: Properties
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropConnector(Statement):
    name: str
    if_exists: bool = False


class ShowWhat(Enum):
    """What SHOW (or LIST) lists."""

    STREAMS = "STREAMS"
    TABLES = "TABLES"
    VIEWS = "VIEWS"
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

    what: ShowWhat
    extended: bool = False


@dataclass(frozen=True)
class Describe(Statement):
    """DESCRIBE name [EXTENDED]."""

    name: str
    extended: bool = False


@dataclass(frozen=True)
class DescribeAll(Statement):
    """DESCRIBE STREAMS | TABLES [EXTENDED]."""

    kind: Kind
    extended: bool = False


@dataclass(frozen=True)
class DescribeFunction(Statement):
    name: str


@dataclass(frozen=True)
class DescribeConnector(Statement):
    name: str


@dataclass(frozen=True)
class Explain(Statement):
    """EXPLAIN [VERBOSE] statement | query id: one of the two is None."""

    statement: Statement | None = None
    query_id: str | None = None
    verbose: bool = False


@dataclass(frozen=True)
class Print(Statement):
    """PRINT topic [FROM BEGINNING] [INTERVAL | SAMPLE n] [LIMIT n]."""

    topic: str
    from_beginning: bool = False
    interval: int | None = None
    limit: int | None = None


class QueryAction(Enum):
    TERMINATE = "TERMINATE"
    PAUSE = "PAUSE"
    RESUME = "RESUME"


@dataclass(frozen=True)
class ControlQuery(Statement):
    """TERMINATE | PAUSE | RESUME id | ALL; `query_id` None means ALL."""

    action: QueryAction
    query_id: str | None = None


@dataclass(frozen=True)
class SetProperty(Statement):
    """SET 'name' = 'value'."""

    name: str
    value: str


@dataclass(frozen=True)
class UnsetProperty(Statement):
    name: str


@dataclass(frozen=True)
class AlterSystem(Statement):
    """ALTER SYSTEM 'name' = 'value'."""

    name: str
    value: str


@dataclass(frozen=True)
class DefineVariable(Statement):
    """DEFINE name = 'value'."""

    name: str
    value: str


@dataclass(frozen=True)
class UndefineVariable(Statement):
    name: str


@dataclass(frozen=True)
class RunScript(Statement):
    path: str


@dataclass(frozen=True)
class AssertTopic(Statement):
    """ASSERT [NOT EXISTS] TOPIC name [WITH (..)] [TIMEOUT duration]."""

    topic: str
    properties: Properties = ()
    timeout: Duration | None = None
    exists: bool = True


@dataclass(frozen=True)
class AssertSchema(Statement):
    """ASSERT [NOT EXISTS] SCHEMA [SUBJECT s] [ID n] [TIMEOUT duration]."""

    subject: str | None = None
    id: int | None = None
    timeout: Duration | None = None
    exists: bool = True


@dataclass(frozen=True)
class AssertValues(Statement):
    """ASSERT VALUES source [(columns)] VALUES (..)  (test scripts only)."""

    source: str
    values: tuple[Expression, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class AssertNullValues(Statement):
    """ASSERT NULL VALUES source [(columns)] KEY (..)  (test scripts only)."""

    source: str
    key: tuple[Expression, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class AssertSource(Statement):
    """ASSERT STREAM | TABLE source [(columns)] [WITH (..)]  (test scripts only)."""

    kind: Kind
    name: str
    columns: tuple[ColumnDefinition, ...] = ()
    properties: Properties = ()

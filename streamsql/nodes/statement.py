"""Statements: one class each."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from streamsql.errors import Span
from streamsql.nodes.query import (
    Duration,
    Expression,
    Properties,
    Query,
)
from streamsql.schema import Kind
from streamsql.types import SQLType


class Effect(Enum):
    """What a statement can change; each class of statements says which of these it is."""

    READS = "nothing but its own session"
    WRITES = "records of topics"
    DEFINES = "what exists and runs: it is logged, and of several servers only the leader runs it"
    DEFINES_CODE = "as DEFINES, and it brings code of the user's"
    ACTS_OUTSIDE = "another system, which it has act"

    @property
    def logged(self) -> bool:
        """Whether the statement goes to the statement log, to be replayed at the next start."""
        return self in (Effect.DEFINES, Effect.DEFINES_CODE)


@dataclass(frozen=True)
class Statement:
    """The base of all; `text` is the source text without `;`, `span` its place in the script."""

    effect: ClassVar[Effect]
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

    effect = Effect.DEFINES

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

    effect = Effect.DEFINES

    kind: Kind
    name: str
    query: Query
    properties: Properties = ()
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class InsertInto(Statement):
    """INSERT INTO name [WITH (QUERY_ID='x')] query."""

    effect = Effect.DEFINES

    target: str
    query: Query
    properties: Properties = ()


@dataclass(frozen=True)
class InsertValues(Statement):
    """INSERT INTO name [(columns)] VALUES (expressions)."""

    effect = Effect.WRITES

    target: str
    values: tuple[Expression, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class DropSource(Statement):
    effect = Effect.DEFINES

    kind: Kind
    name: str
    if_exists: bool = False
    delete_topic: bool = False
    cascade: bool = False
    """Whatever reads or writes it goes too."""


@dataclass(frozen=True)
class AlterSource(Statement):
    """ALTER STREAM | TABLE name ADD COLUMN name type, .."""

    effect = Effect.DEFINES

    kind: Kind
    name: str
    columns: tuple[ColumnDefinition, ...]


@dataclass(frozen=True)
class CreateType(Statement):
    effect = Effect.DEFINES

    name: str
    type: SQLType
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropType(Statement):
    effect = Effect.DEFINES

    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class CreateView(Statement):
    """CREATE [OR REPLACE] VIEW [IF NOT EXISTS] name AS query: expanded where it is used."""

    effect = Effect.DEFINES

    name: str
    query: Query
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropView(Statement):
    effect = Effect.DEFINES

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

    effect = Effect.DEFINES_CODE

    name: str
    parameters: tuple[Parameter, ...]
    returns: SQLType
    code: str
    aggregate: bool = False
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropFunction(Statement):
    effect = Effect.DEFINES_CODE

    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class SelectQuery(Statement):
    """A SELECT on its own: a push query with EMIT, else a pull query."""

    effect = Effect.READS

    query: Query


class ConnectorType(Enum):
    SOURCE = "SOURCE"
    SINK = "SINK"


@dataclass(frozen=True)
class CreateConnector(Statement):
    effect = Effect.ACTS_OUTSIDE

    type: ConnectorType
    name: str
    properties: Properties
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropConnector(Statement):
    effect = Effect.ACTS_OUTSIDE

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

    effect = Effect.READS

    what: ShowWhat
    extended: bool = False


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
    effect = Effect.READS

    name: str


@dataclass(frozen=True)
class DescribeConnector(Statement):
    effect = Effect.READS

    name: str


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
    TERMINATE = "TERMINATE"
    PAUSE = "PAUSE"
    RESUME = "RESUME"


@dataclass(frozen=True)
class ControlQuery(Statement):
    """TERMINATE | PAUSE | RESUME id | ALL; `query_id` None means ALL."""

    effect = Effect.DEFINES

    action: QueryAction
    query_id: str | None = None


@dataclass(frozen=True)
class SetProperty(Statement):
    """SET 'name' = 'value'."""

    effect = Effect.READS

    name: str
    value: str


@dataclass(frozen=True)
class UnsetProperty(Statement):
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
    effect = Effect.READS

    name: str


@dataclass(frozen=True)
class RunScript(Statement):
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

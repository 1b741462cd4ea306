"""The syntax tree of a statement: frozen dataclasses for statements, sqlglot nodes for expressions.

Names are already folded: an unquoted identifier in upper case, a quoted one as written. Expressions
use sqlglot's vocabulary in a fixed way, which the parser builds, the generator prints and the
planner types:

| SQL | node |
|---|---|
| `a`, `s.a` | `Column(this=Identifier(quoted=True), table=Identifier or None)` |
| `1`, `1.5`, `1e3` | `Literal.number(text)` |
| `'x'`, `TRUE`, `NULL` | `Literal.string`, `Boolean`, `Null` |
| `+ - * / %`, unary `-`, `||` | `Add Sub Mul Div Mod`, `Neg`, `DPipe` |
| `= <> < <= > >=` | `EQ NEQ LT LTE GT GTE` |
| `IS [NOT] DISTINCT FROM` | `NullSafeNEQ`, `NullSafeEQ` |
| `AND OR NOT`, `IS [NOT] NULL` | `And Or Not`, `Is(this, Null)`, `Not(Is)` |
| `BETWEEN`, `IN (..)` | `Between`, `In(expressions)` |
| `IN (SELECT ..)`, `EXISTS (..)` | `In(query=Query)`, `Exists(this=Query)` |
| `f(..) OVER (..)` | `Window(this=Anonymous, partition_by=[..], order=Order)` |
| `ORDER BY e DESC` | `Order(expressions=[Ordered(this, desc=True)])` |
| `LIKE .. ESCAPE c` | `Like`, `Escape(Like, Literal)` |
| `CASE` | `Case(this or None, ifs=[If(this, true)], default)` |
| `CAST(e AS t)` | `Cast(this, to=DataType)` |
| `f(..)`, `COUNT(*)` | `Anonymous(this="F", expressions)`; `Star` as the argument |
| `s->f` | `Dot(this, expression=Identifier)` |
| `a[i]` | `Bracket(this, expressions=[i])` |
| `ARRAY[..]`, `MAP(k:=v)` | `Array(expressions)`, `Map(keys=Array, values=Array)` |
| `STRUCT(f:=v)` | `Struct(expressions=[PropertyEQ(this=Identifier, expression)])` |
| `x => e`, `(x, y) => e` | `Lambda(this=e, expressions=[Identifier])` |
| `SECONDS` as an argument | `Var(this="SECONDS")` |
| `e AT TIME ZONE z` | `AtTimeZone(this, zone)` |

Parentheses leave no node. `node.meta` holds the place: `line`, `column`, `start`, `end`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from sqlglot.expressions import Expr

from streamsql.errors import Span
from streamsql.schema import Kind, WindowType
from streamsql.types import SQLType

Expression = Expr
"""A scalar expression, as tabled above."""


@dataclass(frozen=True)
class Duration:
    """`30 SECONDS`; `unit` is MILLISECOND, SECOND, MINUTE, HOUR or DAY."""

    amount: int
    unit: str

    UNITS_MS: ClassVar[dict[str, int]] = {
        "MILLISECOND": 1,
        "SECOND": 1_000,
        "MINUTE": 60_000,
        "HOUR": 3_600_000,
        "DAY": 86_400_000,
    }

    @property
    def ms(self) -> int:
        return self.amount * self.UNITS_MS[self.unit]


@dataclass(frozen=True)
class Property:
    """One entry of WITH (..); the name in upper case."""

    name: str
    value: str | int | float | bool
    span: Span | None = field(default=None, compare=False)


Properties = tuple[Property, ...]


# -- queries -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SelectExpression:
    """`expression [AS alias]`."""

    expression: Expression
    alias: str | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class SelectAll:
    """`*`, or `source.*`."""

    source: str | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class SelectStruct:
    """`expression->*`."""

    expression: Expression
    span: Span | None = field(default=None, compare=False)


SelectItem = SelectExpression | SelectAll | SelectStruct


class Start(Enum):
    """Where reading of a source begins."""

    BEGINNING = "BEGINNING"
    LATEST = "LATEST"
    TIMESTAMP = "TIMESTAMP"
    OFFSETS = "OFFSETS"


@dataclass(frozen=True)
class StartPosition:
    """FROM BEGINNING | LATEST | TIMESTAMP 'text' | OFFSETS ('partition:offset', ..)."""

    start: Start
    timestamp: str | None = None
    offsets: tuple[tuple[int, int], ...] = ()
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class SourceRef:
    """A stream, table, view or common table expression in FROM."""

    name: str
    alias: str | None = None
    span: Span | None = field(default=None, compare=False)
    start: StartPosition | None = None


@dataclass(frozen=True)
class Subquery:
    """`(query) [AS] alias` in FROM."""

    query: Query
    alias: str | None = None
    span: Span | None = field(default=None, compare=False)
    view: str | None = field(default=None, compare=False)
    """The view that the query is the text of: its nodes then stand in another text."""


class JoinType(Enum):
    INNER = "INNER"
    LEFT = "LEFT OUTER"
    RIGHT = "RIGHT OUTER"
    FULL = "FULL OUTER"


@dataclass(frozen=True)
class Within:
    """`WITHIN size` or `WITHIN (before, after)`, with its GRACE PERIOD."""

    before: Duration
    after: Duration
    grace: Duration | None = None


@dataclass(frozen=True)
class Join:
    """One join of FROM; `left` is what stands before it, so that n joins nest to the left."""

    left: Relation
    right: SourceRef | Subquery
    type: JoinType
    on: Expression
    within: Within | None = None
    span: Span | None = field(default=None, compare=False)


Relation = SourceRef | Subquery | Join


@dataclass(frozen=True)
class Window:
    """WINDOW TUMBLING | HOPPING | SESSION; `size` is the gap of a session."""

    type: WindowType
    size: Duration
    advance: Duration | None = None
    retention: Duration | None = None
    grace: Duration | None = None
    span: Span | None = field(default=None, compare=False)


class Emit(Enum):
    CHANGES = "CHANGES"
    FINAL = "FINAL"


@dataclass(frozen=True)
class CommonTable:
    """`name AS (query)` of WITH: a query with a name for the query that it stands in."""

    name: str
    query: Query
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Query:
    """A SELECT; empty `group_by`/`partition_by` mean that there is no such clause.

    `union` are the SELECTs added by UNION ALL (they have no clauses after HAVING); `common_tables`,
    `emit` and `limit` hold for all of them together.
    """

    items: tuple[SelectItem, ...]
    relation: Relation
    window: Window | None = None
    where: Expression | None = None
    group_by: tuple[Expression, ...] = ()
    partition_by: tuple[Expression, ...] = ()
    having: Expression | None = None
    emit: Emit | None = None
    limit: int | None = None
    span: Span | None = field(default=None, compare=False)
    distinct: bool = False
    union: tuple[Query, ...] = ()
    common_tables: tuple[CommonTable, ...] = ()


# -- statements ----------------------------------------------------------------------------------


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

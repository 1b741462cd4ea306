"""Statements that define, change and fill catalog objects: one class each."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from streamsql.errors import Span
from streamsql.nodes.base import Effect, Statement
from streamsql.nodes.query import (
    Expression,
    Properties,
    Query,
    SelectItem,
)
from streamsql.schema import Kind, OnViolation
from streamsql.types import SQLType


class ColumnRole(Enum):
    """Role of a column in CREATE."""

    VALUE = ""
    KEY = "KEY"
    PRIMARY_KEY = "PRIMARY KEY"
    HEADERS = "HEADERS"
    HEADER = "HEADER"


@dataclass(frozen=True)
class ColumnDefinition:
    """`name type [KEY | PRIMARY KEY | HEADERS | HEADER('header')]`, and for a plain table's
    column: NOT NULL, DEFAULT value, AS value."""

    name: str
    type: SQLType
    role: ColumnRole = ColumnRole.VALUE
    header: str | None = None
    not_null: bool = False
    default: Expression | None = None
    generated: Expression | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class ConstraintDefinition:
    """`CONSTRAINT name EXPECT (condition) ON VIOLATION DROP ROW | TO ERRORS | FAIL`."""

    name: str
    condition: Expression
    on_violation: OnViolation
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class WatermarkDefinition:
    """`WATERMARK FOR column AS value`."""

    column: str
    value: Expression
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class DatabaseTable:
    """FROM SOURCE database TABLE 'table': `table` in the syntax of the database."""

    database: str
    table: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class CreateSource(Statement):
    """CREATE [OR REPLACE] [SOURCE] STREAM | TABLE [IF NOT EXISTS] name (..) [APPEND ONLY]
    [FROM SOURCE database TABLE 'table'] WITH (..)."""

    effect = Effect.DEFINES
    creates = "source"

    kind: Kind
    name: str
    columns: tuple[ColumnDefinition, ...] = ()
    properties: Properties = ()
    or_replace: bool = False
    if_not_exists: bool = False
    is_source: bool = False
    constraints: tuple[ConstraintDefinition, ...] = ()
    origin: DatabaseTable | None = None
    watermark: WatermarkDefinition | None = None
    append_only: bool = False

    @property
    def outside(self) -> bool:
        """Whether its rows are looked up where the user says, outside of Kafka."""
        return self._connection is not None and not self.captures

    @property
    def captures(self) -> bool:
        """Whether its topic gets the changes of a database's table."""
        return self.origin is not None or str(self._connection).upper() == "POSTGRES"

    @property
    def _connection(self) -> object:
        return next((e.value for e in self.properties if e.name == "CONNECTION"), None)


@dataclass(frozen=True)
class CreateAsSelect(Statement):
    """CREATE [OR REPLACE] STREAM | TABLE [IF NOT EXISTS] name [(..)] [WITH (..)] AS query."""

    effect = Effect.DEFINES
    creates = "source"

    kind: Kind
    name: str
    query: Query
    properties: Properties = ()
    or_replace: bool = False
    if_not_exists: bool = False
    constraints: tuple[ConstraintDefinition, ...] = ()


@dataclass(frozen=True)
class InsertInto(Statement):
    """INSERT INTO name [(columns)] [WITH (QUERY_ID='x')] query [RETURNING ..]: a running query, or,
    into a plain table, the rows of a pull query."""

    effect = Effect.DEFINES
    creates = "query"

    target: str
    query: Query
    properties: Properties = ()
    columns: tuple[str, ...] = ()
    returning: tuple[SelectItem, ...] = ()


@dataclass(frozen=True)
class InsertValues(Statement):
    """INSERT INTO name [(columns)] VALUES (expressions), .. [RETURNING ..]; `more` are the rows but
    the first."""

    effect = Effect.WRITES

    target: str
    values: tuple[Expression, ...]
    columns: tuple[str, ...] = ()
    more: tuple[tuple[Expression, ...], ...] = ()
    returning: tuple[SelectItem, ...] = ()

    @property
    def rows(self) -> tuple[tuple[Expression, ...], ...]:
        return (self.values, *self.more)


@dataclass(frozen=True)
class CreateDatabase(Statement):
    """CREATE SOURCE [IF NOT EXISTS] name WITH (..): a database whose tables are captured."""

    effect = Effect.DEFINES
    creates = "database"

    name: str
    properties: Properties = ()
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropDatabase(Statement):
    """DROP SOURCE [IF EXISTS] name."""

    effect = Effect.DEFINES
    ends = "database"

    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class DropSource(Statement):
    """DROP STREAM | TABLE [IF EXISTS] name [DELETE TOPIC] [CASCADE]."""

    effect = Effect.DEFINES
    ends = "source"

    kind: Kind
    name: str
    if_exists: bool = False
    delete_topic: bool = False
    cascade: bool = False
    """Whatever reads or writes it goes too."""


@dataclass(frozen=True)
class DropColumn:
    """`DROP COLUMN [IF EXISTS] name`."""

    name: str
    if_exists: bool = False
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class RenameColumn:
    """`RENAME COLUMN name TO new_name`."""

    name: str
    new_name: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class RetypeColumn:
    """`ALTER COLUMN name TYPE type`."""

    name: str
    type: SQLType
    span: Span | None = field(default=None, compare=False)


Alteration = ColumnDefinition | DropColumn | RenameColumn | RetypeColumn
"""Of a column; a ColumnDefinition is `ADD COLUMN`."""


@dataclass(frozen=True)
class AlterSource(Statement):
    """ALTER STREAM | TABLE name alteration, .., one after the other."""

    effect = Effect.DEFINES
    changes = "source"

    kind: Kind
    name: str
    alterations: tuple[Alteration, ...]


@dataclass(frozen=True)
class Comment(Statement):
    """COMMENT ON STREAM | TABLE name IS 'comment' | NULL, which takes the comment away."""

    effect = Effect.DEFINES
    changes = "source"

    kind: Kind
    name: str
    comment: str | None


@dataclass(frozen=True)
class CreateType(Statement):
    """CREATE TYPE [IF NOT EXISTS] name AS type."""

    effect = Effect.DEFINES
    creates = "type"

    name: str
    type: SQLType
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropType(Statement):
    """DROP TYPE [IF EXISTS] name."""

    effect = Effect.DEFINES
    ends = "type"

    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class CreateView(Statement):
    """CREATE [OR REPLACE] VIEW [IF NOT EXISTS] name [(columns)] AS query: expanded where it is
    used."""

    effect = Effect.DEFINES
    creates = "view"

    name: str
    query: Query
    columns: tuple[str, ...] = ()
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropView(Statement):
    """DROP VIEW [IF EXISTS] name [CASCADE]."""

    effect = Effect.DEFINES
    ends = "view"

    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class CreateMaterializedView(Statement):
    """CREATE [OR REPLACE] MATERIALIZED VIEW [IF NOT EXISTS] name [(columns)] [WITH (..)] AS query,
    with the meaning of standard SQL."""

    effect = Effect.DEFINES
    creates = "source"

    name: str
    query: Query
    columns: tuple[str, ...] = ()
    properties: Properties = ()
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropMaterializedView(Statement):
    """DROP MATERIALIZED VIEW [IF EXISTS] name [CASCADE]."""

    effect = Effect.DEFINES
    ends = "source"

    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class Parameter:
    """`name type` of a function; a function of SQL may leave the name out."""

    name: str
    type: SQLType
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class CreateFunction(Statement):
    """CREATE [OR REPLACE] [AGGREGATE] FUNCTION [IF NOT EXISTS] name (..) RETURNS type LANGUAGE
    PYTHON | SQL AS 'text'; `code` is Python text or `module:function`, or a query of SQL."""

    effect = Effect.DEFINES_CODE
    creates = "function"

    name: str
    parameters: tuple[Parameter, ...]
    returns: SQLType
    code: str
    aggregate: bool = False
    or_replace: bool = False
    if_not_exists: bool = False
    language: str = "PYTHON"


@dataclass(frozen=True)
class DropFunction(Statement):
    """DROP FUNCTION [IF EXISTS] name."""

    effect = Effect.DEFINES_CODE
    ends = "function"

    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class CreateSink(Statement):
    """CREATE [OR REPLACE] SINK [IF NOT EXISTS] name FROM source WITH (..)."""

    effect = Effect.DEFINES_FILES
    creates = "sink"

    name: str
    source: str
    properties: Properties = ()
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateSinkOfAll(Statement):
    """CREATE [OR REPLACE] SINK [IF NOT EXISTS] name FROM ALL TABLES WITH (..)."""

    effect = Effect.DEFINES_FILES
    creates = "sink"

    name: str
    properties: Properties = ()
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropSink(Statement):
    """DROP SINK [IF EXISTS] name."""

    effect = Effect.DEFINES
    ends = "sink"

    name: str
    if_exists: bool = False

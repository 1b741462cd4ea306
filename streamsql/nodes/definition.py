"""Statements that define, change and fill what there is: one class each."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from streamsql.errors import Span
from streamsql.nodes.base import Effect, Statement
from streamsql.nodes.query import (
    Expression,
    Properties,
    Query,
)
from streamsql.schema import Kind
from streamsql.types import SQLType


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

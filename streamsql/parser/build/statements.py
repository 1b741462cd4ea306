"""Builds statements: one method for each rule of grammar/streamsql.lark outside queries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lark import Token

from streamsql import nodes as n
from streamsql.errors import ParseError, Span
from streamsql.ksqldb import says
from streamsql.nodes import ColumnDefinition, ColumnRole, Duration, Expression, Property, Query
from streamsql.parser.build.constraints import SourceColumns, constraints_alone
from streamsql.parser.build.items import as_written
from streamsql.schema import Kind
from streamsql.types import SQLType

Items = tuple[n.SelectItem, ...]
_SOURCE_NAME = re.compile(r"[a-zA-Z0-9_-]*")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_@]*")


class DefinitionBuilder:
    """CREATE, DROP and INSERT."""

    def create_source(
        self,
        span: Span,
        or_replace: bool | None,
        source: bool | None,
        kind: Kind,
        if_not_exists: bool | None,
        name: str,
        given: SourceColumns | None,
        append_only: bool | None,
        origin: n.DatabaseTable | None,
        properties: tuple[Property, ...] | None,
    ) -> n.CreateSource:
        return n.CreateSource(
            kind,
            name,
            given.columns if given else (),
            properties or (),
            or_replace=bool(or_replace),
            if_not_exists=bool(if_not_exists),
            is_source=bool(source),
            constraints=given.constraints if given else (),
            origin=origin,
            watermark=given.watermark if given else None,
            append_only=bool(append_only),
            span=span,
        )

    def from_database(self, span: Span, database: str, table: str) -> n.DatabaseTable:
        return n.DatabaseTable(database, table, span)

    def create_database(
        self,
        span: Span,
        source: bool,
        if_not_exists: bool | None,
        name: str,
        properties: tuple[Property, ...],
    ) -> n.CreateDatabase:
        return n.CreateDatabase(name, properties, bool(if_not_exists), span=span)

    def drop_database(self, span: Span, if_exists: bool | None, name: str) -> n.DropDatabase:
        return n.DropDatabase(name, bool(if_exists), span=span)

    def create_as_select(
        self,
        span: Span,
        or_replace: bool | None,
        kind: Kind,
        if_not_exists: bool | None,
        name: str,
        given: SourceColumns | None,
        properties: tuple[Property, ...] | None,
        query: Query,
    ) -> n.CreateAsSelect:
        flags, constraints = (bool(or_replace), bool(if_not_exists)), constraints_alone(given)
        return n.CreateAsSelect(kind, name, query, properties or (), *flags, constraints, span=span)

    def insert_query(
        self,
        span: Span,
        target: str,
        columns: tuple[str, ...] | None,
        properties: tuple[Property, ...] | None,
        query: Query,
        returning: Items | None,
    ) -> n.InsertInto:
        return n.InsertInto(
            target, query, properties or (), columns or (), returning or (), span=span
        )

    def insert_values(
        self,
        span: Span,
        target: str,
        columns: tuple[str, ...] | None,
        rows: tuple[tuple[Expression, ...], ...],
        returning: Items | None,
    ) -> n.InsertValues:
        for row in rows:
            _check_count(span, columns, row)
        first, *more = rows
        return n.InsertValues(target, first, columns or (), tuple(more), returning or (), span=span)

    def value_row(self, span: Span, values: list[Expression] | None) -> tuple[Expression, ...]:
        return tuple(values or ())

    def drop_source(
        self,
        span: Span,
        kind: Kind,
        if_exists: bool | None,
        name: str,
        *options: str,
    ) -> n.DropSource:
        delete_topic, cascade = "DELETE TOPIC" in options, "CASCADE" in options
        return n.DropSource(kind, name, bool(if_exists), delete_topic, cascade, span=span)

    def comment(self, span: Span, kind: Kind, name: str, comment: str | None = None) -> n.Comment:
        return n.Comment(kind, name, comment, span=span)

    def create_type(
        self, span: Span, if_not_exists: bool | None, name: str, type: SQLType
    ) -> n.CreateType:
        return n.CreateType(name, type, bool(if_not_exists), span=span)

    def drop_type(self, span: Span, if_exists: bool | None, name: str) -> n.DropType:
        return n.DropType(name, bool(if_exists), span=span)

    def create_connector(
        self,
        span: Span,
        type: n.ConnectorType,
        if_not_exists: bool | None,
        name: str,
        options: tuple[Property, ...],
    ) -> n.CreateConnector:
        return n.CreateConnector(type, name, options, bool(if_not_exists), span=span)

    def drop_connector(self, span: Span, if_exists: bool | None, name: str) -> n.DropConnector:
        return n.DropConnector(name, bool(if_exists), span=span)

    def or_replace(self, span: Span) -> bool:
        return True

    source = if_not_exists = if_exists = not_exists = or_replace
    extended = verbose = from_beginning = or_replace

    def stream(self, span: Span) -> Kind:
        return Kind.STREAM

    def table(self, span: Span) -> Kind:
        return Kind.TABLE

    def source_connector(self, span: Span) -> n.ConnectorType:
        return n.ConnectorType.SOURCE

    def sink_connector(self, span: Span) -> n.ConnectorType:
        return n.ConnectorType.SINK

    def source_name(self, span: Span, name: str) -> str:
        if not _SOURCE_NAME.fullmatch(name):
            raise ParseError(
                f"Source names may only contain alphanumeric values, '_' or '-'. Got: '{name}'",
                span=span,
                ksqldb=says("source-name", name=name),
            )
        return name

    # -- columns and properties ------------------------------------------------------------------

    def columns(self, span: Span, *columns: ColumnDefinition) -> tuple[ColumnDefinition, ...]:
        return columns

    def column_definition(
        self, span: Span, name: str, type: SQLType, *options: dict[str, Any]
    ) -> ColumnDefinition:
        given: dict[str, Any] = {}
        for option in options:
            if given.keys() & option.keys():
                raise ParseError(f"column {name} has an option twice", span=span)
            given |= option
        return ColumnDefinition(name, type, **given, span=span)

    def key_role(self, span: Span) -> dict[str, Any]:
        return {"role": ColumnRole.KEY}

    def primary_key_role(self, span: Span) -> dict[str, Any]:
        return {"role": ColumnRole.PRIMARY_KEY}

    def headers_role(self, span: Span) -> dict[str, Any]:
        return {"role": ColumnRole.HEADERS}

    def header_role(self, span: Span, header: str) -> dict[str, Any]:
        return {"role": ColumnRole.HEADER, "header": header}

    def nullable(self, span: Span) -> dict[str, Any]:
        return {}

    def not_null(self, span: Span) -> dict[str, Any]:
        return {"not_null": True}

    def default(self, span: Span, value: Expression) -> dict[str, Any]:
        return {"default": value}

    def generated(self, span: Span, value: Expression) -> dict[str, Any]:
        return {"generated": value}

    def names(self, span: Span, *names: str) -> tuple[str, ...]:
        return names

    def with_(self, span: Span, *properties: Property | None) -> tuple[Property, ...]:
        given = tuple(p for p in properties if p is not None)
        seen: set[str] = set()
        for p in given:
            if p.name in seen:
                raise ParseError(f"property {p.name} is given twice", span=p.span)
            seen.add(p.name)
        return given

    settings = with_

    def with_options(self, span: Span, *options: Property | None) -> tuple[Property, ...]:
        return tuple(option for option in options if option is not None)

    def property(self, span: Span, name: str, value: Any) -> Property:
        return Property(name, value, span)

    option = property

    def property_name(self, span: Span, name: str) -> str:
        return name.upper()

    def option_name(self, span: Span, name: Token | str) -> str:
        return as_written(name) if isinstance(name, Token) else name

    def text_value(self, span: Span, text: str) -> str:
        return text

    def number_value(self, span: Span, literal: Expression) -> int | float:
        text = literal.sql() if isinstance(literal.this, Expression) else str(literal.this)
        return int(text) if text.lstrip("-").isdecimal() else float(text)

    def true_value(self, span: Span) -> bool:
        return True

    def false_value(self, span: Span) -> bool:
        return False


def _check_count(
    span: Span, columns: tuple[str, ...] | None, values: Sequence[Expression] | None
) -> None:
    """Without a list of columns only the planner knows how many there must be."""
    if columns and len(columns) != len(values or ()):
        raise ParseError(
            f"Expected number columns and values to match: {len(columns)}, {len(values or ())}",
            span=span,
        )


class CommandBuilder:
    """SHOW, DESCRIBE, the session, running queries, assertions."""

    def select_query(self, span: Span, query: Query, as_of: n.AsOf | None = None) -> n.SelectQuery:
        return n.SelectQuery(query, as_of, span=span)

    def as_of_epoch(self, span: Span, epoch: str) -> n.AsOf:
        return n.AsOf(int(epoch), span=span)

    def as_of_timestamp(self, span: Span, time: Expression) -> n.AsOf:
        return n.AsOf(time=time, span=span)

    def show(self, span: Span, what: tuple[n.ShowWhat, bool | None]) -> n.Show:
        return n.Show(what[0], bool(what[1]), span=span)

    def show_lineage(
        self, span: Span, direction: n.LineageDirection, name: str, column: str | None
    ) -> n.ShowLineage:
        return n.ShowLineage(direction, name, column, span=span)

    def column_name(self, span: Span, name: str) -> str:
        return name

    def lineage_of(self, span: Span) -> n.LineageDirection:
        return n.LineageDirection.OF

    def lineage_from(self, span: Span) -> n.LineageDirection:
        return n.LineageDirection.FROM

    def describe(self, span: Span, name: str, extended: bool | None) -> n.Describe:
        return n.Describe(name, bool(extended), span=span)

    def describe_all(self, span: Span, kind: Kind, extended: bool | None) -> n.DescribeAll:
        return n.DescribeAll(kind, bool(extended), span=span)

    def describe_function(self, span: Span, name: str) -> n.DescribeFunction:
        return n.DescribeFunction(name, span=span)

    def describe_database(self, span: Span, name: str) -> n.DescribeDatabase:
        return n.DescribeDatabase(name, span=span)

    def describe_connector(self, span: Span, name: str) -> n.DescribeConnector:
        return n.DescribeConnector(name, span=span)

    def explain(self, span: Span, verbose: bool | None, statement: n.Statement) -> n.Explain:
        return n.Explain(statement, None, bool(verbose), span=span)

    def explain_query(self, span: Span, verbose: bool | None, query_id: str) -> n.Explain:
        return n.Explain(None, query_id.upper(), bool(verbose), span=span)

    def print(
        self,
        span: Span,
        topic: str,
        from_beginning: bool | None,
        interval: int | None,
        limit: int | None,
    ) -> n.Print:
        return n.Print(topic, bool(from_beginning), interval, limit, span=span)

    def interval(self, span: Span, count: int) -> int:
        return count

    print_limit = schema_id = interval

    def resource(self, span: Span, name: Token | str) -> str:
        return as_written(name) if isinstance(name, Token) else name

    def control_query(
        self, span: Span, action: n.QueryAction, query_id: str | None = None
    ) -> n.ControlQuery:
        return n.ControlQuery(action, query_id.upper() if query_id else None, span=span)

    def terminate(self, span: Span) -> n.QueryAction:
        return n.QueryAction.TERMINATE

    def pause(self, span: Span) -> n.QueryAction:
        return n.QueryAction.PAUSE

    def resume(self, span: Span) -> n.QueryAction:
        return n.QueryAction.RESUME

    def alter_query(
        self, span: Span, query_id: str, properties: tuple[Property, ...]
    ) -> n.AlterQuery:
        return n.AlterQuery(query_id.upper(), properties, span=span)

    def set_property(self, span: Span, name: str, value: str) -> n.SetProperty:
        return n.SetProperty(name, value, span=span)

    def unset_property(self, span: Span, name: str) -> n.UnsetProperty:
        return n.UnsetProperty(name, span=span)

    def alter_system(self, span: Span, name: str, value: str) -> n.AlterSystem:
        return n.AlterSystem(name, value, span=span)

    def define_variable(self, span: Span, name: str, value: str) -> n.DefineVariable:
        _check_variable(span, name)
        return n.DefineVariable(name, value, span=span)

    def undefine_variable(self, span: Span, name: str) -> n.UndefineVariable:
        _check_variable(span, name)
        return n.UndefineVariable(name, span=span)

    def run_script(self, span: Span, path: str) -> n.RunScript:
        return n.RunScript(path, span=span)

    # -- assertions ------------------------------------------------------------------------------

    def assert_topic(
        self,
        span: Span,
        absent: bool | None,
        topic: str,
        properties: tuple[Property, ...] | None,
        timeout: Duration | None,
    ) -> n.AssertTopic:
        return n.AssertTopic(topic, properties or (), timeout, not absent, span=span)

    def assert_schema(
        self,
        span: Span,
        absent: bool | None,
        subject: str | None,
        schema_id: int | None,
        timeout: Duration | None,
    ) -> n.AssertSchema:
        return n.AssertSchema(subject, schema_id, timeout, not absent, span=span)

    def subject(self, span: Span, name: str) -> str:
        return name

    def timeout(self, span: Span, duration: Duration) -> Duration:
        return duration

    def assert_values(
        self,
        span: Span,
        source: str,
        columns: tuple[str, ...] | None,
        values: list[Expression] | None,
    ) -> n.AssertValues:
        _check_count(span, columns, values)
        return n.AssertValues(source, tuple(values or ()), columns or (), span=span)

    def assert_null_values(
        self,
        span: Span,
        source: str,
        columns: tuple[str, ...] | None,
        key: list[Expression] | None,
    ) -> n.AssertNullValues:
        _check_count(span, columns, key)
        return n.AssertNullValues(source, tuple(key or ()), columns or (), span=span)

    def assert_source(
        self,
        span: Span,
        kind: Kind,
        name: str,
        columns: tuple[ColumnDefinition, ...] | None,
        properties: tuple[Property, ...] | None,
    ) -> n.AssertSource:
        return n.AssertSource(kind, name, columns or (), properties or (), span=span)


def _check_variable(span: Span, name: str) -> None:
    if not _VARIABLE_NAME.fullmatch(name):
        raise ParseError(f"'{name}' is not the name of a variable", span=span)


def _shows(what: n.ShowWhat) -> Any:
    def build(
        self: object, span: Span, extended: bool | None = None
    ) -> tuple[n.ShowWhat, bool | None]:
        return what, extended

    return build


for _what in n.ShowWhat:
    setattr(CommandBuilder, f"show_{_what.name.lower()}", _shows(_what))
